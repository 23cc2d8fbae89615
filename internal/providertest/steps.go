package providertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Changes returns the calls that change something, each with its hosts: "register_proc_info 0:10.0.0.2
// 0:10.0.0.3", or "operate_proc_v2/3 …" with the op type. They are sorted, because concurrent calls have no
// fixed order.
func (s *Sim) Changes() []string {
	changes := []string{}
	for _, call := range s.Calls() {
		name := call.API
		switch {
		case strings.HasPrefix(name, "get_"), name == "sync_proc_status", call.Op == 2, slices.Contains(readers, name): // a read
			continue
		case call.Op >= 0:
			name = fmt.Sprintf("%s/%d", name, call.Op)
		}
		changes = append(changes, name+" "+strings.Join(slices.Sorted(slices.Values(call.Hosts)), " "))
	}
	slices.Sort(changes)
	return changes
}

// readers are the APIs of scripts. The simulator only runs scripts that read.
var readers = []string{"async_execute_script", "fast_execute_script", "batch_get_job_instance_ip_log"}

// ExpectChanges checks that Changes returns exactly these calls, written as calls of the ESB (see OnGateway).
// Without arguments, there must be none.
func (s *Sim) ExpectChanges(want ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if diff := cmp.Diff(append([]string{}, OnGateway(want)...), s.Changes()); diff != "" {
			return fmt.Errorf("calls that change something (-want +got):\n%s", diff)
		}
		return nil
	}
}

// FailHosts makes an API, named as on the ESB, fail on hosts by number, and forgets the calls so far.
func (s *Sim) FailHosts(api string, hosts []int, code int, message string) {
	fault := simulator.Fault{Code: &code, Message: message}
	fault.API, fault.Op = FaultOn(api)
	for _, n := range hosts {
		fault.Hosts = append(fault.Hosts, Address(n))
	}
	s.Inject(fault)
	s.ResetCalls()
}

// FailOperation makes one operation fail on hosts. Queries still succeed.
func (s *Sim) FailOperation(op int, hosts []int, code int, message string) {
	s.Inject(simulator.Fault{API: "operate_proc_v2", Op: &op, Hosts: AddressList(hosts), Code: &code, Message: message})
}

// Repair removes all faults, and forgets the calls so far.
func (s *Sim) Repair() {
	s.ClearFaults()
	s.ResetCalls()
}
