package rollouts

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// slow is a platform on which an operation takes an hour by its own clock. It counts the polls for the
// result.
type slow struct {
	sim   *providertest.Sim
	op    int
	ahead atomic.Int64
	polls atomic.Int64
	// then is given each poll by its number, if it is set.
	then atomic.Pointer[func(int64)]
}

func (s *slow) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

func (s *slow) count(call simulator.Call) {
	if !strings.HasPrefix(call.API, "get_proc") || call.Op != s.op {
		return
	}
	n := s.polls.Add(1)
	if then := s.then.Load(); then != nil {
		(*then)(n)
	}
}

func newSlow(t *testing.T, op int) *slow {
	t.Helper()
	s := &slow{sim: providertest.NewSim(t), op: op}
	s.sim.Now, s.sim.OnCall = s.now, s.count
	return s
}

// hangs has the operation take an hour on the first host, of all commands or of one.
func (s *slow) hangs(command string) {
	s.sim.Inject(simulator.Fault{API: "operate_*", Op: &s.op, Hosts: providertest.AddressList([]int{1}), Command: command, Takes: time.Hour})
}

// ends has what is under way come to its end.
func (s *slow) ends() { s.ahead.Store(int64(2 * time.Hour)) }

// endsWhileAsked has it come to its end at the fourth poll from now.
func (s *slow) endsWhileAsked() {
	from := s.polls.Load()
	s.after(func(n int64) {
		if n >= from+4 {
			s.ends()
		}
	})
}

// fails has it come to its end, and the platform say that it failed.
func (s *slow) fails() {
	s.sim.Inject(simulator.Fault{API: "get_proc*", Op: &s.op, Hosts: providertest.AddressList([]int{1}), Code: new(simulator.CodeCommandFailed), Times: 1})
	s.ends()
}

// isForgotten has the platform forget its task.
func (s *slow) isForgotten() {
	for _, task := range s.sim.Tasks() {
		s.sim.ExpireTask(task.ID)
	}
}

func (s *slow) after(then func(int64)) { s.then.Store(&then) }

// cutAtPoll applies the configuration, and interrupts that when the result was asked for so
// often from now on.
func (r *rollout) cutAtPoll(s *slow, polls int64) providertest.Diagnostics {
	r.t.Helper()
	ctx, cut := context.WithCancel(r.t.Context())
	defer cut()
	from := s.polls.Load()
	s.after(func(n int64) {
		if n == from+polls {
			cut()
		}
	})
	r.sim.ResetCalls()
	r.anew()
	r.resource.Until = ctx
	_, said := r.resource.Apply(r.config)
	s.after(func(int64) {})
	return said
}

// waitsInVain is an apply that is cut off while it waits for what is under way, and sends nothing.
func (r *rollout) waitsInVain(s *slow, left map[string]string) {
	r.t.Helper()
	if said := r.cutAtPoll(s, 4); !said.Failed() {
		r.t.Errorf("it went well: %s", said)
	}
	r.wantLeft(left)
	if changes := r.sim.Changes(); len(changes) > 0 {
		r.t.Errorf("sent %v", changes)
	}
}

// wantSent expects that the last apply sent the operation to the first host so often.
func (r *rollout) wantSent(s *slow, times int) {
	r.t.Helper()
	if sent := r.sim.Calls().OfOp(s.op).On(providertest.Address(1)).Of("operate_*"); len(sent) != times {
		r.t.Errorf("sent %v, want it %d times", sent.APIs(), times)
	}
}

// beginsSlowly is a rollout over two hosts that ends while the operation of on_update is
// under way on the first.
func beginsSlowly(t *testing.T, by providertest.Face, onUpdate string) (*rollout, *slow) {
	t.Helper()
	s := newSlow(t, map[string]int{"restart": simulator.OpRestart, "reload": simulator.OpReload}[onUpdate])
	r := begunAt(t, s.sim, by, 2, map[string]any{"on_update": onUpdate})
	s.hangs("")
	r.declare("./v2.sh")
	if said := r.cutAtPoll(s, 4); !said.Failed() {
		t.Fatal("it went well")
	}
	r.want("under way", "v2", "v1")
	r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
	r.sim.ClearFaults()
	return r, s
}

// startsSlowly is a create over two hosts that is interrupted while the start is under way
// on the first. The second runs.
func startsSlowly(t *testing.T, by providertest.Face) (*rollout, *slow) {
	t.Helper()
	s := newSlow(t, simulator.OpStart)
	r := &rollout{t: t, sim: s.sim, by: by, hosts: 2, kept: &providertest.Kept{}, config: by.Reference("./v1.sh", 2)}
	r.config["ensure"] = "running"
	s.hangs("")
	if said := r.cutAtPoll(s, 4); said.Failed() {
		t.Fatalf("said: %s", said)
	}
	r.want("under way", "v1 down", "v1 start")
	r.wantLeft(map[string]string{"web-1": "not_running"})
	r.sim.ClearFaults()
	return r, s
}

// onEach plays a test at faces.
func onEach(t *testing.T, name string, at []providertest.Face, play func(*testing.T, providertest.Face)) {
	t.Helper()
	for _, by := range providertest.Through(t, name, at) {
		t.Run(name+"/"+string(by), func(t *testing.T) {
			t.Parallel()
			play(t, by)
		})
	}
}

// An operation of on_update that is in progress when its apply ends reaches its agent once. The next
// apply polls its task, and waits while it is in progress.
func TestOnUpdate_underWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at       []providertest.Face
		onUpdate string
		then     func(*slow)
		sent     int    // what more is sent to the first host
		first    string // what it is after that
	}{
		"restart-over":       {faces, "restart", (*slow).ends, 0, "v2 restart"},
		"restart-waited-for": {twoFaces, "restart", (*slow).endsWhileAsked, 0, "v2 restart"},
		"restart-failed":     {twoFaces, "restart", (*slow).fails, 1, "v2 restart restart"},
		"restart-forgotten":  {twoFaces, "restart", (*slow).isForgotten, 1, "v2 restart"},
		// Whether it is a restart or a reload makes a difference to fleet alone.
		"reload-over": {faces, "reload", (*slow).ends, 0, "v2 reload"},
	} {
		onEach(t, name, c.at, func(t *testing.T, by providertest.Face) {
			t.Helper()
			r, s := beginsSlowly(t, by, c.onUpdate)
			c.then(s)
			r.apply("")
			r.want("asked for", c.first, "v2 "+c.onUpdate)
			r.wantSent(s, c.sent)
			r.wantSettled()
		})
	}
	// Who waits in vain keeps the task, and asks once more.
	onEach(t, "for-long", faces, func(t *testing.T, by providertest.Face) {
		t.Helper()
		r, s := beginsSlowly(t, by, "reload")
		r.waitsInVain(s, map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
		s.ends()
		r.apply("")
		r.want("asked once more", "v2 reload", "v2 reload")
		r.wantSettled()
	})
	// What is under way for one declaration says nothing of the next.
	onEach(t, "declared-anew", faces, func(t *testing.T, by providertest.Face) {
		t.Helper()
		r, s := beginsSlowly(t, by, "restart")
		s.ends()
		r.update("./v3.sh", "")
		r.want("declared anew", "v3 restart restart", "v3 restart")
		r.wantSettled()
	})
	// Where no task is known it goes by the pid alone.
	onEach(t, "without-a-task", []providertest.Face{providertest.FaceESB}, func(t *testing.T, by providertest.Face) {
		t.Helper()
		r, s := beginsSlowly(t, by, "restart")
		r.kept.Private = withoutTasks(t, r.kept.Private)
		s.ends()
		r.apply("")
		r.want("by the pid", "v2 restart", "v2 restart")
		r.wantSettled()
	})
}

// The same goes for the start of ensure = "running".
func TestEnsureRunning_underWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then func(*slow)
		sent int // what more is sent
	}{
		"over": {(*slow).ends, 0}, "waited-for": {(*slow).endsWhileAsked, 0}, "failed-and-runs": {(*slow).fails, 0}, "forgotten": {(*slow).isForgotten, 1},
	} {
		onEach(t, name, faces, func(t *testing.T, by providertest.Face) {
			t.Helper()
			r, s := startsSlowly(t, by)
			c.then(s)
			r.apply("")
			r.want("asked for", "v1 start", "v1")
			r.wantSent(s, c.sent)
			r.wantStartedOnce()
			r.wantSettled()
		})
	}
	// Who waits in vain keeps the task, also where its declaration has changed. What it started
	// is restarted then.
	for name, c := range map[string]struct {
		declared string
		left     map[string]string
		want     []string
	}{
		"for-long":          {"./v1.sh", map[string]string{"web-1": "not_running"}, []string{"v1 start", "v1"}},
		"for-long-and-anew": {"./v2.sh", map[string]string{"web-1": "other_spec", "web-2": "other_spec"}, []string{"v2 start restart", "v2 restart"}},
	} {
		onEach(t, name, faces, func(t *testing.T, by providertest.Face) {
			t.Helper()
			r, s := startsSlowly(t, by)
			r.set(map[string]any{"on_update": "restart"})
			r.declare(c.declared)
			r.waitsInVain(s, c.left)
			s.ends()
			r.apply("")
			r.want("asked once more", c.want...)
			r.wantStartedOnce()
			r.wantSettled()
		})
	}
}

// wantStartedOnce expects that one start came to the first host, over all applies.
func (r *rollout) wantStartedOnce() {
	r.t.Helper()
	starts := 0
	for _, done := range r.sim.Executions() {
		if done.Action == "start" && done.Host == providertest.Address(1) {
			starts++
		}
	}
	if starts != 1 {
		r.t.Errorf("started %d times", starts)
	}
}

// What is under way when a rollback ends is waited for as well, by who stays with the
// declaration that came back.
func TestRollback_underWay(t *testing.T) {
	t.Parallel()
	onEach(t, "restart", faces, func(t *testing.T, by providertest.Face) {
		t.Helper()
		s := newSlow(t, simulator.OpRestart)
		r := begunAt(t, s.sim, by, 2, rollsBack(nil))
		r.declare("./v2.sh")
		r.failOnce(2)
		s.hangs("./v1.sh")
		if said := r.cutAtPoll(s, 12); !strings.Contains(said.String(), "Rolled Back In Part") {
			t.Errorf("said: %s", said)
		}
		r.wantLeft(map[string]string{"web-1": "operation_unconfirmed"})
		r.sim.ClearFaults()
		s.ends()
		r.update("./v1.sh", "")
		r.want("went back", "v1 restart", "v1")
		r.wantSent(s, 0)
		r.wantSettled()
	})
}

// withoutTasks is private state without its tasks.
func withoutTasks(t *testing.T, private []byte) []byte {
	t.Helper()
	var kept map[string][]byte
	var compressed []byte
	var ledger map[string]any
	if err := errors.Join(json.Unmarshal(private, &kept), json.Unmarshal(kept["ledger"], &compressed)); err != nil {
		t.Fatal(err)
	}
	from, err := zlib.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(from).Decode(&ledger); err != nil {
		t.Fatal(err)
	}
	found := 0
	groups, _ := ledger["hosts"].([]any)
	for _, group := range groups {
		entry, _ := group.(map[string]any)
		if due, ok := entry["due"].(map[string]any); ok && due["task"] != nil {
			delete(due, "task")
			found++
		}
	}
	var again bytes.Buffer
	to := zlib.NewWriter(&again)
	err = errors.Join(json.NewEncoder(to).Encode(ledger), to.Close())
	raw, wrong := json.Marshal(again.Bytes())
	kept["ledger"] = raw
	private, failed := json.Marshal(kept)
	if err := errors.Join(err, wrong, failed); err != nil || found == 0 {
		t.Fatalf("%d tasks, %v", found, err)
	}
	return private
}

// A restart that takes longer than its wave may is one failure of the apply. The next apply waits for it
// and does not restart again.
//
// Promised in rolling-restart.md: A restart that was still under way when its wave ended is
// waited for by the next apply, and not sent again.
func TestOnUpdate_outlastsItsWave(t *testing.T) {
	t.Parallel()
	onEach(t, "restart", faces, func(t *testing.T, by providertest.Face) {
		t.Helper()
		providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
			t.Helper()
			const hosts = 6
			kept, config := &providertest.Kept{}, by.Reference("./v1.sh", hosts)
			apply := func(start string) providertest.Diagnostics {
				maps.Copy(config, by.Reference(start, hosts))
				_, said := sim.ConfiguredFor(t, by).CoreOf(by.TypeName(providertest.OnCreate), kept).Apply(config)
				return said
			}
			config["ensure"], config["on_update"] = "running", "restart"
			config["rollout"] = map[string]any{"waves": []any{"1"}, "max_failed_hosts": "1", "wave_timeout": "1m"}
			if said := apply("./v1.sh"); len(said) > 0 {
				t.Fatal(said)
			}
			sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Hosts: []string{providertest.Address(2)}, Takes: time.Hour})
			var sent time.Time
			sim.OnCall = func(call simulator.Call) {
				if strings.HasPrefix(call.API, "operate_") && call.Op == simulator.OpRestart && slices.Contains(call.Hosts, providertest.Address(2)) {
					sent = time.Now()
				}
			}
			text := apply("./v2.sh").String()
			for _, part := range []string{"is not as declared on 1 of 6 hosts", "web-2 (0:10.0.0.3): ", "still in progress"} {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in: %s", part, text)
				}
			}
			sim.ClearFaults()
			time.Sleep(time.Until(sent.Add(time.Hour - 10*time.Second))) // it ends while the next apply waits
			if said := apply("./v2.sh"); len(said) > 0 {
				t.Error(said)
			}
			restarted := make(map[string]int)
			for _, done := range sim.Executions() {
				if done.Action == "restart" {
					restarted[done.Host]++
				}
			}
			for n := 1; n <= hosts; n++ {
				address := providertest.Address(n)
				if sent := len(sim.Calls().OfOp(simulator.OpRestart).On(address).Of("operate_*")); sent != 1 || restarted[address] != 1 {
					t.Errorf("%s: sent %d times, restarted %d times", address, sent, restarted[address])
				}
			}
			sim.ResetCalls()
			if said := apply("./v2.sh"); len(said) > 0 || len(sim.Changes()) > 0 {
				t.Errorf("something was left to do: %v\n%s", sim.Changes(), said)
			}
		})
	})
}
