package providertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/provider"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Factories serve the provider in the test's own process, for terraform-plugin-testing. Where it waits seconds
// for users, it waits milliseconds.
var Factories = map[string]func() (tfprotov6.ProviderServer, error){
	"bk": func() (tfprotov6.ProviderServer, error) {
		options := provider.DefaultOptions("test")
		options.Backoff = poll.Backoff{First: time.Millisecond, Max: 5 * time.Millisecond, Factor: 1.5}
		return provider.NewServer(options), nil
	},
}

// Sim is a simulator that listens at a URL.
type Sim struct {
	*simulator.Server
	URL string
}

// NewSim serves a simulator with 10.0.0.0/8 as virtual hosts until the test ends. The test fails if the
// provider sends anything that the platform's documents do not describe.
func NewSim(tb testing.TB) *Sim {
	tb.Helper()
	return NewSimBehind(tb, func(sim http.Handler) http.Handler { return sim })
}

// NewSimBehind is NewSim with a handler in front of the simulator.
func NewSimBehind(tb testing.TB, front func(http.Handler) http.Handler) *Sim {
	tb.Helper()
	sim := &simulator.Server{}
	onPlatform(tb, sim)
	sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
	server := httptest.NewServer(front(sim))
	served := &Sim{Server: sim, URL: server.URL}
	tb.Cleanup(func() {
		served.record()
		server.Close()
		if err := sim.Close(); err != nil {
			tb.Errorf("closing the simulator: %s", err)
		}
		for _, violation := range sim.Violations() {
			tb.Errorf("the simulator refused: %s", violation)
		}
	})
	return served
}

// CMDBEndpoint returns the endpoint of CMDB, whose gateway has a URL of its own.
func (s *Sim) CMDBEndpoint() string {
	if Gateway == bkapi.APIGW {
		return s.URL + "/api/bk-cmdb/prod"
	}
	return s.URL
}

// ProviderConfig returns a provider block for the simulator, in HCL; more holds further attributes.
func (s *Sim) ProviderConfig(more ...string) string {
	return fmt.Sprintf(`
provider "bk" {
  endpoint   = %[1]q
  app_code   = %[2]q
  app_secret = %[3]q
  username   = "admin"

  gateway    = %[5]q

  cmdb_endpoint = %[6]q

  retry_wait_min = "1ms"
  retry_wait_max = "5ms"
  %[4]s
}
`, s.URL, simulator.DefaultAppCode, simulator.DefaultAppSecret, strings.Join(more, "\n  "), Gateway, s.CMDBEndpoint())
}

// HostsConfig returns a hosts map of web-1 to web-n, in HCL.
func HostsConfig(n int) string { return HostsConfigOf(HostNumbers(n)...) }

// HostNumbers returns 1 to n.
func HostNumbers(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i + 1
	}
	return numbers
}

// HostsConfigOf returns a hosts map of hosts by number, in HCL.
func HostsConfigOf(numbers ...int) string {
	var text strings.Builder
	text.WriteString("{\n")
	for _, n := range numbers {
		fmt.Fprintf(&text, "    web-%d = %q\n", n, Address(n))
	}
	text.WriteString("  }")
	return text.String()
}

// Address returns the address of host web-n.
func Address(n int) string { return fmt.Sprintf("0:10.0.%d.%d", n/250, n%250+1) }

// SpecConfig returns a spec with every operation's command and resource limits, in HCL; start is its
// start_cmd.
func SpecConfig(start string) string {
	return fmt.Sprintf(`{
    identity = {
      proc_name  = "nginx"
      setup_path = "/srv/web"
      pid_path   = "/srv/web/nginx.pid"
      user       = "root"
    }
    control = {
      start_cmd   = %[1]q
      stop_cmd    = "./stop.sh"
      restart_cmd = "./restart.sh"
      reload_cmd  = "./reload.sh"
      kill_cmd    = "./kill.sh"
    }
    resource       = { cpu = 30, mem = 10 }
    monitor_policy = { auto_type = 1 }
  }`, start)
}

// Colleague registers a process on hosts by number, as another user with another spec.
func (s *Sim) Colleague(t *testing.T, namespace, name string, labels map[string]string, hosts ...int) {
	t.Helper()
	for _, n := range hosts {
		NoError(t, s.Register(Address(n), namespace, name, labels, `{"identity":{}}`))
	}
}

// Registered registers the process on hosts web-1 to web-n, as another user with the usual spec.
func (s *Sim) Registered(tb testing.TB, n int) {
	tb.Helper()
	for _, number := range HostNumbers(n) {
		if err := s.Register(Address(number), "web", "nginx", nil, `{"identity":{"proc_name":"nginx","setup_path":"/srv/web","pid_path":"/srv/web/nginx.pid","user":"root"},`+
			`"control":{"start_cmd":"./start.sh"},"resource":{"cpu":30,"mem":10},"monitor_policy":{"auto_type":1}}`); err != nil {
			tb.Fatal(err)
		}
	}
}
