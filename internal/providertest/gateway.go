package providertest

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// Gateway is the gateway that tests use, from BK_TEST_GATEWAY. The same tests run with both. Only the
// provider block differs, and expected calls are written as calls of the ESB.
var Gateway = bkapi.Gateway(cmp.Or(os.Getenv("BK_TEST_GATEWAY"), string(bkapi.ESB)))

// OnGateway translates calls of the ESB, as Sim.Changes lists them, to those of Gateway.
func OnGateway(esb []string) []string { return Face(Gateway).Changes(esb...) }

// Changes translates calls of the ESB, as Sim.Changes lists them, to those of a face. The API gateway and JOB
// have no endpoint to register: hosting (op 3) also registers, so there is no second call to host.
func (f Face) Changes(esb ...string) []string {
	if f == FaceESB {
		return esb
	}
	operate, other := "operate_proc_multi", "operate_proc_v2"
	if f == FaceJOB {
		operate, other = "operate_process", "operate_process"
	}
	registered := make(map[string]bool)
	for _, call := range esb {
		if hosts, registers := strings.CutPrefix(call, "register_proc_info "); registers {
			for host := range strings.FieldsSeq(hosts) {
				registered[host] = true
			}
		}
	}
	var translated []string
	for _, call := range esb {
		name, hosts, _ := strings.Cut(call, " ")
		switch {
		case name == "register_proc_info", name == "update_proc_info":
			name = operate + "/3"
		case name == "unregister_proc_info":
			name = operate + "/4"
		case name == "operate_proc_v2/3" && !slices.ContainsFunc(strings.Fields(hosts), func(host string) bool { return !registered[host] }):
			continue
		default:
			name = strings.Replace(name, "operate_proc_v2", other, 1)
		}
		translated = append(translated, name+" "+hosts)
	}
	slices.Sort(translated)
	return translated
}

// FaultOn translates an API of the ESB, for a fault, to an API of Gateway and its op type, nil if it has none.
func FaultOn(api string) (string, *int) { return Face(Gateway).FaultOn(api) }

// FaultOn translates an API of the ESB, for a fault, to an API of a face and its op type, nil if it has none.
func (f Face) FaultOn(api string) (string, *int) {
	operate := map[Face]string{FaceGateway: "operate_proc_multi", FaceJOB: "operate_process"}[f]
	switch {
	case f == FaceESB:
	case api == "register_proc_info", api == "update_proc_info":
		return operate, new(3)
	case api == "unregister_proc_info":
		return operate, new(4)
	}
	return api, nil
}

// ESBOnly skips a test of something that the API gateway does not have.
func ESBOnly(t *testing.T, why string) {
	t.Helper()
	if Gateway != bkapi.ESB {
		t.Skip("only over the ESB: " + why)
	}
}
