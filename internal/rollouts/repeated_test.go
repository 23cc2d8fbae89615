package rollouts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// timed is a platform that may keep the time of a registration when the process is registered
// again, started or hosted, and whose file may stay as it is.
type timed struct{ keeps, frozen bool }

func (p timed) String() string {
	return fmt.Sprintf("keeps-times=%t,frozen=%t", p.keeps, p.frozen)
}

// onTimed plays a test on every such platform, at the ESB and at the gateway.
func onTimed(t *testing.T, play func(t *testing.T, by providertest.Face, p timed)) {
	t.Helper()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
		for _, p := range []timed{{}, {keeps: true}, {frozen: true}, {keeps: true, frozen: true}} {
			t.Run(fmt.Sprintf("%s,%s", by, p), func(t *testing.T) {
				t.Parallel()
				play(t, by, p)
			})
		}
	}
}

// begun is begunAt on such a platform.
func (p timed) begun(t *testing.T, by providertest.Face, hosts int, more map[string]any) *rollout {
	t.Helper()
	sim := providertest.NewSim(t)
	sim.ReregisteringKeepsTime, sim.StartingKeepsTime, sim.HostingKeepsTime = p.keeps, p.keeps, p.keeps
	r := begunAt(t, sim, by, hosts, more)
	if p.frozen {
		sim.FreezeStatus()
	}
	return r
}

func (r *rollout) label(team string) {
	r.config["meta"] = map[string]any{"namespace": "web", "name": "nginx", "labels": map[string]any{"team": team}}
}

// What was registered and operated is done, whatever the file shows from before.
func TestOnUpdate_notRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"registered", "restart"}, {"hosted", "reload"}, {"running", "restart"}, {"running", "reload"}} {
		ensure, operation := c[0], c[1]
		t.Run(ensure+","+operation, func(t *testing.T) {
			t.Parallel()
			onTimed(t, func(t *testing.T, by providertest.Face, p timed) {
				t.Helper()
				if ensure == "registered" && by == providertest.FaceGateway {
					t.Skip("to register at the gateway is to host")
				}
				r := p.begun(t, by, 2, map[string]any{"ensure": ensure, "on_update": operation})
				r.declare("./v2.sh")
				r.apply("")
				r.want("another command", "v2 "+operation, "v2 "+operation)
				r.wantSettled()

				r.label("sre")
				r.apply("")
				r.want("another label", "v2", "v2")
				r.wantSettled()

				r.declare("./v1.sh") // and the label of before
				r.apply("")
				r.want("as it was", "v1 "+operation, "v1 "+operation)
				r.wantSettled()
				r.sim.ThawStatus()
				r.wantSettled()
			})
		})
	}
}

// A picture from between two changes is as old as one from before both.
func TestOnUpdate_olderPicture(t *testing.T) {
	t.Parallel()
	onTimed(t, func(t *testing.T, by providertest.Face, p timed) {
		t.Helper()
		r := p.begun(t, by, 2, map[string]any{"ensure": "running"})
		r.declare("./v2.sh")
		r.apply("")
		r.sim.ThawStatus()
		r.sim.FreezeStatus()
		r.declare("./v1.sh")
		r.apply("")
		r.want("changed back", "v1 restart", "v1 restart")
		r.wantSettled()
	})
}

// Once the file has shown what was registered, what was there before is drift again.
func TestOnUpdate_registeredBack(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 2, map[string]any{"ensure": "running"})
			before := r.labelsOf(2)
			r.declare("./v2.sh")
			r.apply("")
			r.wantSettled()
			r.must(r.sim.Register(providertest.Address(2), "web", "nginx", before, ""))
			r.apply("")
			r.wantPlanned("register anew 1 host, restart what runs on 1 host, start what does not run on 1 host: web-2")
			r.wantSettled()
		})
	}
}

// labelsOf are the labels of a host's registration.
func (r *rollout) labelsOf(n int) map[string]string {
	p, _ := r.sim.Process(providertest.Address(n), r.namespace(), r.name())
	return p.Labels
}

// A run that is killed together with Terraform leaves state as it was before. No host is
// operated once more without being named: those that were not reached are operated, and of the
// others the apply says that it does not know.
//
// Promised in rolling-restart.md: The apply names these hosts and fails; the apply after that
// restarts them.
func TestOnUpdate_cutOff(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"restart", "reload"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			onTimed(t, func(t *testing.T, by providertest.Face, p timed) {
				t.Helper()
				r := p.begun(t, by, 4, map[string]any{"ensure": "running", "on_update": operation})
				before := *r.kept
				r.declare("./v2.sh")
				r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(map[string]int{"restart": simulator.OpRestart, "reload": simulator.OpReload}[operation]), Hosts: providertest.AddressList([]int{2}), Code: new(simulator.CodeCommandFailed)})
				r.apply("on 3 of 4 hosts")
				r.want("cut off", "v2 "+operation, "v2", "v1", "v1")
				r.sim.ClearFaults()
				*r.kept = before

				if operation == "reload" && p.keeps && p.frozen {
					// The pid stays, and neither the agent nor the file shows that anything was
					// registered: this is the one case in which a reload is repeated.
					r.apply("")
					r.want("reloaded again", "v2 reload", "v2 reload", "v2 reload", "v2 reload")
					return
				}
				said := r.apply("whether an apply that was cut off")

				if operation == "restart" { // another pid tells which were restarted
					r.want("went on", "v2", "v2 restart", "v2 restart", "v2 restart")
					r.wantLeft(map[string]string{"web-1": "operation_unconfirmed"})
				}
				for n, seen := range r.seen() {
					if key := fmt.Sprintf("web-%d", n+1); n < 2 && strings.Contains(seen, operation) == strings.Contains(said, key) {
						t.Errorf("%s: %s; said: %s", key, seen, said)
					}
				}
				r.apply("")
				r.wantSettled()
			})
		})
	}
}
