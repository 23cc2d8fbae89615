package providertest

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// Gateway is the way into the platform that tests use, from BK_TEST_GATEWAY. The same tests
// run over both: only the provider block differs, and the calls that tests expect are
// written as those of the ESB.
var Gateway = bkapi.Gateway(cmp.Or(os.Getenv("BK_TEST_GATEWAY"), string(bkapi.ESB)))

// OnGateway translates calls of the ESB, as Sim.Changes lists them, to those of Gateway. The
// API gateway has no endpoints that register: hosting does it (op 3 of
// operate_proc_multi), so there is no second call that hosts.
func OnGateway(esb []string) []string {
	if Gateway != bkapi.APIGW {
		return esb
	}
	var (
		translated []string
		registered = make(map[string]bool)
	)
	for _, call := range esb {
		name, hosts, _ := strings.Cut(call, " ")
		switch name {
		case "register_proc_info":
			for host := range strings.FieldsSeq(hosts) {
				registered[host] = true
			}
			name = "operate_proc_multi/3"
		case "update_proc_info":
			name = "operate_proc_multi/3"
		case "unregister_proc_info":
			name = "operate_proc_multi/4"
		}
		translated = append(translated, name+" "+hosts)
	}
	translated = slices.DeleteFunc(translated, func(call string) bool {
		hosts, hosting := strings.CutPrefix(call, "operate_proc_v2/3 ")
		return hosting && !slices.ContainsFunc(strings.Fields(hosts), func(host string) bool { return !registered[host] })
	})
	slices.Sort(translated)
	return translated
}

// FaultOn translates an API of the ESB, for a fault, to that of Gateway and its op type, nil
// if it has none.
func FaultOn(api string) (string, *int) {
	if Gateway == bkapi.APIGW {
		switch api {
		case "register_proc_info", "update_proc_info":
			return "operate_proc_multi", new(3)
		case "unregister_proc_info":
			return "operate_proc_multi", new(4)
		}
	}
	return api, nil
}

// ESBOnly skips a test about something that the gateway does not have.
func ESBOnly(t *testing.T, why string) {
	t.Helper()
	if Gateway != bkapi.ESB {
		t.Skip("only over the ESB: " + why)
	}
}
