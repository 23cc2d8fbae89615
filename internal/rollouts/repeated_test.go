package rollouts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// timed is a platform with two options. It may keep the time of a registration when the process is
// registered again, started or hosted. And its cached status may stay unchanged.
type timed struct {
	by            providertest.Face
	keeps, frozen bool
}

// allTimed are all such platforms at the ESB. The gateway differs by nothing but what it calls
// to register, which is played where an agent keeps its time and the file stays.
var allTimed = []timed{
	{by: providertest.FaceESB}, {by: providertest.FaceESB, keeps: true}, {by: providertest.FaceESB, frozen: true},
	{by: providertest.FaceESB, keeps: true, frozen: true}, {by: providertest.FaceGateway, keeps: true, frozen: true},
}

func onTimed(t *testing.T, name string, hosts int, more map[string]any, play func(*rollout, timed)) {
	t.Helper()
	for _, p := range allTimed {
		t.Run(fmt.Sprintf("%s/%s,keeps-times=%t,frozen=%t", name, p.by, p.keeps, p.frozen), func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.ReregisteringKeepsTime, sim.StartingKeepsTime, sim.HostingKeepsTime = p.keeps, p.keeps, p.keeps
			r := begunAt(t, sim, p.by, hosts, more)
			if p.frozen {
				sim.FreezeStatus()
			}
			play(r, p)
		})
	}
}

// What was registered and operated is done, whatever the file shows from before.
func TestOnUpdate_notRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"registered", "restart"}, {"hosted", "reload"}, {"running", "restart"}, {"running", "reload"}} {
		ensure, operation := c[0], c[1]
		onTimed(t, ensure+","+operation, 2, map[string]any{"ensure": ensure, "on_update": operation}, func(r *rollout, p timed) {
			if ensure == "registered" && p.by == providertest.FaceGateway {
				r.t.Skip("to register at the gateway is to host")
			}
			r.update("./v2.sh", "", "v2 "+operation, "v2 "+operation)
			r.wantSettled()

			r.label("sre")
			r.apply("", "v2", "v2")
			r.wantSettled()

			r.update("./v1.sh", "") // and the label of before
			r.want("v1 "+operation, "v1 "+operation)
			r.wantSettled()
			r.sim.ThawStatus()
			r.wantSettled()
		})
	}
}

// A picture from between two changes is as old as one from before both.
func TestOnUpdate_olderPicture(t *testing.T) {
	t.Parallel()
	onTimed(t, "running", 2, map[string]any{"ensure": "running"}, func(r *rollout, _ timed) {
		r.update("./v2.sh", "")
		r.sim.ThawStatus()
		r.sim.FreezeStatus()
		r.update("./v1.sh", "", "v1 restart", "v1 restart")
		r.wantSettled()
	})
}

// A run that is killed together with Terraform does not change state. No host is operated again without being named.
// The hosts that were not reached are operated, and for the others the apply reports that the outcome is unknown.
//
// Promised in rolling-restart.md: The apply names these hosts and fails; the apply after that
// restarts them.
func TestOnUpdate_cutOff(t *testing.T) {
	t.Parallel()
	for operation, op := range map[string]int{"restart": simulator.OpRestart, "reload": simulator.OpReload} {
		onTimed(t, operation, 4, map[string]any{"ensure": "running", "on_update": operation}, func(r *rollout, p timed) {
			before := *r.kept
			r.sim.Inject(failing(op, 2))
			r.update("./v2.sh", "on 3 of 4 hosts", "v2 "+operation, "v2", "v1", "v1")
			r.sim.ClearFaults()
			*r.kept = before

			if operation == "reload" && p.keeps && p.frozen {
				// The pid is the same, and neither the agent nor the cached status shows a registration.
				// Only in this case is a reload repeated.
				r.apply("", "v2 reload", "v2 reload", "v2 reload", "v2 reload")
				return
			}
			said := r.apply("whether an apply that was cut off")
			if operation == "restart" { // another pid shows which were restarted
				r.want("v2", "v2 restart", "v2 restart", "v2 restart")
				r.wantLeft(map[string]string{"web-1": "operation_unconfirmed"})
			}
			for n, seen := range r.seen() {
				if key := providertest.HostKey(n + 1); n < 2 && strings.Contains(seen, operation) == strings.Contains(said, key) {
					r.t.Errorf("%s: %s; said: %s", key, seen, said)
				}
			}
			r.apply("")
			r.wantSettled()
		})
	}
}
