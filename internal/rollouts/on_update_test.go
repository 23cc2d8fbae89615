package rollouts

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A changed spec is registered on a host and restarts it before the next host is touched.
// What does not run is left so, and nothing is operated twice.
func TestOnUpdate_restart(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 3, nil)
			r.must(r.sim.StopProcess(providertest.Address(3), r.namespace(), r.name()))
			r.must(r.sim.Host(providertest.Address(3), r.namespace(), r.name()))
			r.declare("./v2.sh")

			r.apply("")

			r.want("restarted", "v2 restart", "v2 restart", "v2 down")
			var order []string
			for _, call := range r.sim.Calls() {
				if call.Op == simulator.OpRestart && (call.API == "operate_proc_v2" || call.API == "operate_process") {
					order = append(order, call.Hosts...)
				}
			}
			if len(order) != 2 || order[0] != providertest.Address(1) || order[1] != providertest.Address(2) {
				t.Errorf("restarted in this order: %v", order)
			}
			r.wantSettled()
		})
	}
}

func TestOnUpdate_reload(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 2, map[string]any{"on_update": "reload"})
			r.declare("./v2.sh")
			r.apply("")
			r.want("reloaded", "v2 reload", "v2 reload")
			r.wantSettled()
		})
	}
}

func TestOnUpdate_register(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 2, map[string]any{"on_update": "register"})
			r.declare("./v2.sh")
			r.apply("")
			r.want("registered", "v2", "v2")
			r.wantSettled()
		})
	}
}

// Neither changed labels nor hosts that join operate anything.
func TestOnUpdate_onlyAChangedSpec(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 2, nil)
			r.hosts = 3
			r.declare("./v1.sh")
			r.config["meta"] = map[string]any{"namespace": "web", "name": "nginx", "labels": map[string]any{"team": "sre"}}
			r.apply("")
			r.want("labelled", "v1", "v1", "v1 down")
			r.wantSettled()
		})
	}
}

// A rollout that stops leaves the hosts behind it as they were; the next apply goes on
// from there and operates each host once.
func TestOnUpdate_goesOn(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 4, nil)
			r.declare("./v2.sh")
			r.fail(2)

			r.apply("on 3 of 4 hosts")
			r.want("stopped", "v2 restart", "v2", "v1", "v1")
			r.wantPlanned("register anew 4 hosts, restart what runs on 4 hosts in 4 waves of 1: web-1…web-4")
			r.wantLeft(map[string]string{"web-2": "not_operated", "web-3": "other_spec", "web-4": "other_spec"})

			r.sim.Mend()
			r.apply("")
			r.want("went on", "v2", "v2 restart", "v2 restart", "v2 restart")
			r.wantPlanned("register anew 2 hosts, restart what runs on 3 hosts, host what is not hosted on 1 host in 3 waves of 1: web-2…web-4")
			r.wantSettled()
		})
	}
}

// Who goes back to the old spec restarts what had the new one, and nothing else.
func TestOnUpdate_goesBack(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 4, nil)
			r.declare("./v2.sh")
			r.fail(2)
			r.apply("on 3 of 4 hosts")
			r.sim.Mend()

			r.declare("./v1.sh")
			r.apply("")

			r.want("went back", "v1 restart", "v1 restart", "v1", "v1")
			r.wantPlanned("register anew 4 hosts, restart what runs on 2 hosts in 4 waves of 1: web-1…web-4")
			r.wantSettled()
		})
	}
}

// A restart that took the process down is made good by a start, by the next declaration
// as well.
func TestOnUpdate_takenDown(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 2, nil)
			r.declare("./v2.sh")
			r.fail(1)
			r.apply("on 2 of 2 hosts")
			r.must(r.sim.StopProcess(providertest.Address(1), r.namespace(), r.name()))
			r.must(r.sim.Host(providertest.Address(1), r.namespace(), r.name()))
			r.sim.Mend()

			r.declare("./v3.sh")
			r.apply("")

			r.want("started", "v3 start", "v3 restart")
			r.wantSettled()
		})
	}
}

// Where the answer to a restart is lost, another pid tells that it happened, and the same
// one that it did not.
func TestOnUpdate_answerLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		drop  string
		after string
	}{"it-happened": {"after", "v2"}, "it-did-not": {"before", "v2 restart"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, by := range faces {
				t.Run(string(by), func(t *testing.T) {
					t.Parallel()
					r := begun(t, by, 2, nil)
					r.declare("./v2.sh")
					r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{1}), Drop: c.drop})

					r.apply("on 2 of 2 hosts")
					r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})

					r.sim.Mend()
					r.apply("")
					r.want("asked first", c.after, "v2 restart")
					r.wantSettled()
				})
			}
		})
	}
}

// A killed provider saves nothing. What it may have restarted is not restarted again
// unasked: the apply after it says so, and the one after that restarts.
//
// Promised in reference: Where an apply was killed and nothing tells how far it came, hosts
// that run are registered and not operated, the apply fails with `operation_unconfirmed`, and
// the apply after that operates them.
func TestOnUpdate_killed(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 2, nil)
			before := *r.kept
			r.declare("./v2.sh")
			r.fail(2)
			r.apply("on 1 of 2 hosts")
			r.sim.Mend()
			*r.kept = providertest.Kept{State: before.State, Identity: before.Identity} // private state is not kept then

			r.apply("whether an apply that was cut off has operated it already is not known")

			r.want("not again", "v2", "v2")
			r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "operation_unconfirmed"})
			r.apply("")
			r.want("asked for", "v2 restart", "v2 restart")
			r.wantSettled()
		})
	}
}

// What a killed provider never came to is restarted by the next apply, where the platform
// tells.
func TestOnUpdate_killedBefore(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 2, nil)
			r.kept.Private = nil
			r.declare("./v2.sh")
			r.apply("")
			r.want("restarted", "v2 restart", "v2 restart")
			r.wantSettled()
		})
	}
}

// Another spec that somebody registered is replaced, and the process restarted, since
// nothing tells what it runs by.
func TestOnUpdate_drift(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 2, nil)
			r.sim.Colleague(t, "web", "nginx", map[string]string{"by": "console"}, 2)
			r.apply("")
			r.want("mended", "v1", "v1 restart")
			r.wantSettled()
		})
	}
}
