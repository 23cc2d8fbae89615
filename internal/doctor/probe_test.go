package doctor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/doctor"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// arises are the switches that the doctor can find at a gateway. JOB and CMDB are checked at either.
func arises(gateway bkapi.Gateway) []string {
	var names []string
	for _, b := range belief.All() {
		if b.Switch && (b.On(belief.Face(gateway)) || b.On(belief.JOB) || b.ID == "old-cmdb" && gateway == bkapi.APIGW) {
			names = append(names, b.ID)
		}
	}
	return names
}

// hidden is the value that the doctor finds for switches whose effect another switch hides. The provider does not meet that effect either.
func hidden(gateway bkapi.Gateway, on []string) map[string]string {
	has := func(name string) bool { return slices.Contains(on, name) }
	values := make(map[string]string)
	hide := func(name, value string, by ...string) {
		if slices.ContainsFunc(by, has) {
			values[name] = value
		}
	}
	hide("reregistering-keeps-time", belief.No, "register-hosts") // registering is hosting, which renews it
	hide("reregistering-keeps-time", belief.Unknown, "agents-without-times", "hosting-once")
	hide("starting-keeps-time", belief.Unknown, "agents-without-times")
	hide("hosting-keeps-time", belief.Unknown, "agents-without-times")
	hide("manage-proc-bug", belief.Unknown, "job-removed")
	if gateway == bkapi.APIGW && has("start-replaces") { // the test does not give the address
		values["manage-proc-bug"] = belief.Unknown
		hide("entry-per-name", belief.Unknown, "rows-without-host", "rows-without-agent-id")
	}
	return values
}

// probed runs the doctor on a simulator with switches, and returns the profile after writing and reading it.
func probed(t *testing.T, gateway bkapi.Gateway, on ...string) (belief.Profile, *doctor.Report) {
	t.Helper()
	sim := &simulator.Server{}
	simtest.Must(t, sim.With(on...))
	w := newWorld(t, gateway, sim)
	trial := w.trial()
	trial.Business = 2
	if other := host(t, address); gateway == bkapi.APIGW && !slices.Contains(on, "start-replaces") {
		trial.Other = &other // otherwise the platform gives it
	}
	profile, report := w.probe(trial)
	read, err := belief.ParseProfile("platform.json", profile.Text())
	simtest.Must(t, err)
	return read, report
}

func (w *world) probe(trial doctor.Trial) (belief.Profile, *doctor.Report) {
	w.Helper()
	report := &doctor.Report{}
	profile, err := w.platform.Probe(w.Context(), trial, report)
	simtest.Must(w.T, err)
	w.expectNothing()
	return profile, report
}

// found compares a profile with the switches that are on.
func found(t *testing.T, gateway bkapi.Gateway, profile belief.Profile, report *doctor.Report, on []string) {
	t.Helper()
	want, got := make(map[string]string), make(map[string]string)
	for _, name := range arises(gateway) {
		want[name], got[name] = belief.No, profile.Value(name)
		switch {
		case hidden(gateway, on)[name] != "":
			want[name] = hidden(gateway, on)[name]
		case slices.Contains(on, name):
			want[name] = belief.Yes
		}
	}
	providertest.Same(t, fmt.Sprintf("with %v: %s", on, lines(report)), want, got)
}

func lines(report *doctor.Report) string {
	var text strings.Builder
	for _, l := range report.Lines {
		text.WriteString(l.String() + "\n")
	}
	return text.String()
}

// The doctor finds every switch of the simulator on each face where it matters, alone and with each other switch. It finds no other
// switch, and leaves nothing behind. With -short, as in make test, two switches of both gateways go through one of them.
func TestProbe_findsSwitches(t *testing.T) {
	t.Parallel()
	both := func(name string) bool {
		return !slices.ContainsFunc(bkapi.Gateways(), func(g bkapi.Gateway) bool { return !slices.Contains(arises(g), name) })
	}
	for turn, gateway := range bkapi.Gateways() {
		names := arises(gateway)
		for i, name := range names {
			t.Run(string(gateway)+"/"+name, func(t *testing.T) {
				t.Parallel()
				for _, other := range names[i:] {
					if testing.Short() && name != other && both(name) && both(other) && (len(name)+len(other))%2 == turn {
						continue
					}
					on := slices.Compact([]string{name, other})
					profile, report := probed(t, gateway, on...)
					found(t, gateway, profile, report, on)
				}
			})
		}
		t.Run(string(gateway)+"/none", func(t *testing.T) {
			t.Parallel()
			profile, report := probed(t, gateway)
			found(t, gateway, profile, report, nil)
			providertest.Check(t, report.Count(doctor.Found) == 0, "something is otherwise:\n%s", lines(report))
			for _, b := range belief.All() {
				answered := b.Settled != belief.SettledByNothing && b.On(belief.Face(gateway))
				if value := profile.Value(b.ID); answered && !b.As(value) || b.Settled == belief.SettledByNothing && value != belief.Unknown {
					t.Errorf("%s is %s", b.ID, value)
				}
			}
		})
	}
}

// The doctor waits for a cached status that lags, and reports the lag and the labels that the platform adds.
func TestProbe_measures(t *testing.T) {
	t.Parallel()
	for _, gateway := range bkapi.Gateways() {
		t.Run(string(gateway), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gateway, &simulator.Server{Lag: 90 * time.Second, StartReplaces: true, RowLabels: map[string]string{"added": "1"}})
			profile, _ := w.probe(w.trial())
			for id, want := range map[string]string{"status-lag": "1m30s", "labels-added": belief.Yes, "start-replaces": belief.Yes, "manage-proc-bug": belief.Unknown} {
				simtest.Want(t, id, profile.Value(id), want)
			}
		})
	}
}

// An unexpected answer of the platform is reported. A refusal ends a step, but not the run.
func TestProbe_reports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault simulator.Fault
		id    string
		value string
		says  string
	}{
		"second-stop":      {simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpStop), Skip: 1, Code: new(0), Apply: true}, "second-stop", "0", "✗ Stopping what does not run has code 829: no: code 0"},
		"renamed":          {simulator.Fault{API: "*", Keys: "address"}, "results-renamed", belief.Yes, "some named the host otherwise"},
		"no-restart":       {simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpRestart), Code: new(65535), Message: "no such file"}, "restart-keeps-hosting", belief.Unknown, "✗ a step ended early: restart: code 65535: no such file"},
		"forbidden-status": {simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403}, "status-lag", belief.Unknown, "get_proc_status_v2: HTTP 403"},
		"queued":           {simulator.Fault{API: "*", Queued: 1}, "second-start", "828", `✓ what is in progress: get_proc_operate_result_v2 has code 1000115, "`},
		"pending":          {simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpStart), Pending: 2}, "second-start", "828", `✓ what is in progress: a result has code 115, "handling"`},
		"one-shot":         {simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpStart), Code: new(0), Apply: true, Skip: 2}, "one-shot-start", "0", "✗ Starting a one-shot process has code 836: no: code 0"},
		"no-labels":        {simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos/*/meta/labels": map[string]any{}}}, "rows-without-labels", belief.Yes, "✗ A row has the labels of the registration: no"},
		"stale-rows":       {simulator.Fault{API: "get_proc_status_v2", Missing: -1}, "status-lag", belief.Unknown, "the cached status did not show a start within 10m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bkapi.APIGW, &simulator.Server{})
			w.sim.Inject(c.fault)
			profile, report := w.probe(w.trial())
			simtest.WantIn(t, "report", lines(report), c.says)
			for id, want := range map[string]string{c.id: c.value, "hosting-once": belief.No, "second-start": "828"} { // other steps go on
				simtest.Want(t, id, profile.Value(id), want)
			}
		})
	}
}

// If it may not begin, it changes nothing, and says why.
func TestProbe_refuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gateway bkapi.Gateway
		arrange func(*world, *doctor.Trial)
		says    string
	}{
		"namespace-in-use": {
			bkapi.ESB, func(w *world, _ *doctor.Trial) { _ = w.sim.Register(address, namespace, "nginx", nil, "") },
			`nothing was done, because namespace "doctor_test" is in use: it has 1 registrations; give the name of one that nobody uses`,
		},
		"agent-away": {
			bkapi.APIGW, func(w *world, _ *doctor.Trial) { w.sim.SetReachable(address, false) }, "nothing was done: the agent of " + agentID + " does not tell: code 117",
		},
		"no-permission": {
			bkapi.APIGW, func(w *world, _ *doctor.Trial) {
				w.sim.Inject(simulator.Fault{API: "sync_proc_status", HTTPStatus: 403})
			},
			"nothing was done, because the namespace cannot be listed: ",
		},
		"agent-id-on-the-esb": {bkapi.ESB, func(w *world, trial *doctor.Trial) { trial.Host = host(w.T, agentID) }, "the ESB knows hosts by address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.gateway, &simulator.Server{})
			trial := w.trial()
			c.arrange(w, &trial)
			before := w.sim.Processes()
			_, err := w.platform.Probe(t.Context(), trial, &doctor.Report{})
			simtest.Check(t, err != nil && strings.Contains(err.Error(), c.says), "got %v, want %q", err, c.says)
			simtest.Want(t, "processes", w.sim.Processes(), before)
			simtest.Want(t, "executions", len(w.sim.Executions()), 0)
		})
	}
}

// Whenever it is interrupted, nothing is left on the host, and it says that it was interrupted.
func TestProbe_interrupted(t *testing.T) {
	t.Parallel()
	for _, gateway := range bkapi.Gateways() {
		for at := 1; at <= 12; at++ {
			t.Run(fmt.Sprintf("%s/%d", gateway, at), func(t *testing.T) {
				t.Parallel()
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				calls := 0
				w := newWorld(t, gateway, &simulator.Server{HostingStarts: true, OnCall: func(c simulator.Call) {
					if c.Op >= 0 && c.Op != simulator.OpQuery || strings.HasSuffix(c.API, "register_proc_info") {
						if calls++; calls == at {
							interrupt()
						}
					}
				}})
				profile, err := w.platform.Probe(ctx, w.trial(), &doctor.Report{})
				if err == nil || !strings.Contains(err.Error(), "interrupted: the scratch process was removed") || len(profile.Answers) > 0 {
					t.Errorf("got %v, %v", profile, err)
				}
				w.sim.Tick()
				w.expectNothing()
			})
		}
	}
}

// If something cannot be removed, a line names it and says what to do.
func TestProbe_left(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bkapi.APIGW, &simulator.Server{})
	w.sim.Inject(simulator.Fault{API: "operate_proc_multi", Op: new(simulator.OpUnhost), Code: new(117)})
	_, err := w.platform.Probe(t.Context(), w.trial(), &doctor.Report{})
	if err == nil || !strings.Contains(err.Error(), " on "+agentID+": the agent still has it:") || !strings.Contains(err.Error(), "within half an hour") {
		t.Errorf("got %v", err)
	}
}

// A start may take effect after an interrupt, or after its answer was lost. The doctor waits for it and undoes it.
func TestProbe_lateStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		interrupts bool
		drop       string
	}{"interrupted": {true, ""}, "lost": {false, "after"}, "lost-and-interrupted": {true, "after"}} {
		for _, gateway := range bkapi.Gateways() {
			t.Run(name+"/"+string(gateway), func(t *testing.T) {
				t.Parallel()
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				w := newWorld(t, gateway, &simulator.Server{OnCall: func(call simulator.Call) {
					if c.interrupts && call.Op == simulator.OpStart && call.API == "operate_proc_v2" {
						interrupt()
					}
				}})
				start := simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpStart), Takes: time.Minute}
				w.sim.Inject(start)
				w.sim.Inject(simulator.Fault{API: start.API, Op: start.Op, Drop: c.drop})
				if _, err := w.platform.Probe(ctx, w.trial(), &doctor.Report{}); (err != nil) != c.interrupts || err != nil && strings.Contains(err.Error(), "may be left") {
					t.Errorf("got %v", err)
				}
				_ = w.clock.Pause(t.Context(), time.Hour)
				w.expectNothing()
			})
		}
	}
}
