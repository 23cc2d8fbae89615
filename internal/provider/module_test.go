package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// newExampleCLI is a CLI in one directory of a copy of the examples.
func newExampleCLI(t *testing.T, sim *providertest.Sim, dir string) *providertest.CLI {
	t.Helper()
	cli := providertest.NewCLI(t, sim, "")
	examples := filepath.Join(t.TempDir(), "examples")
	if err := os.CopyFS(examples, os.DirFS(filepath.Join("..", "..", "examples"))); err != nil {
		t.Fatal(err)
	}
	cli.Dir = filepath.Join(examples, dir)
	return cli
}

// The suites of the modules run on mocks: nobody listens at the endpoint.
func TestAccModule_mocked(t *testing.T) {
	t.Parallel()
	for module, runs := range map[string]int{"hosted-service": 10, "business": 5} {
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			cli := newExampleCLI(t, &providertest.Sim{URL: "http://127.0.0.1:1"}, "modules/"+module)
			out := cli.Expect(0, "test")
			if !strings.Contains(out, fmt.Sprintf("Success! %d passed, 0 failed.", runs)) {
				t.Errorf("the suite told\n%s", out)
			}
		})
	}
}

func TestAccModule_simulator(t *testing.T) {
	t.Parallel()
	const start, restart = 0, 7
	sim := providertest.NewSim(t)
	cli := newExampleCLI(t, sim, "modules/hosted-service")
	out := cli.Expect(0, "test", "-test-directory=tests/simulator")
	if !strings.Contains(out, "Success! 5 passed, 0 failed.") {
		t.Errorf("the suite told\n%s", out)
	}
	for op, want := range map[int]int{
		start:   3, // each host once
		restart: 5, // none when it was created, two for the new hash, two for the new command, and the new host
	} {
		if got := sim.Calls().OfOp(op).HostCalls("operate_*"); got != want {
			t.Errorf("operation %d was called for %d hosts, want %d", op, got, want)
		}
	}
	for _, p := range sim.Processes() {
		if p.Registered || p.Running {
			t.Errorf("left behind on %s: %+v", p.Host, p)
		}
	}
}

func TestAccModule_twoTeams(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := newExampleCLI(t, sim, "two-teams")
	cli.Expect(0, "get")
	cli.Expect(0, "apply", "-auto-approve")
	for op, want := range map[int]int{simulator.OpStart: 6, simulator.OpRestart: 0} {
		if got := sim.Calls().OfOp(op).HostCalls("operate_*"); got != want {
			t.Errorf("operation %d was called for %d hosts, want %d", op, got, want)
		}
	}
	want := `{"arena":{"10.0.1.1":"running","10.0.1.4":"running","10.0.1.5":"running"},` +
		`"lobby":{"10.0.0.1":"running","10.0.0.2":"running","10.0.0.3":"running"}}`
	if diff := cmp.Diff(want, strings.TrimSpace(cli.Expect(0, "output", "-json", "status"))); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	cli.Expect(0, "plan", "-detailed-exitcode")
}
