package doctor_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/doctor"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
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

// hidden returns the value that the doctor finds for switches whose effect another switch hides. The provider does not see that effect either.
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
			providertest.Check(t, report.Count(doctor.Found) == 0, "something was found:\n%s", lines(report))
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
		"second-stop": {simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpStop), Skip: 1, Code: new(0), Apply: true}, "second-stop", "0", "✗ Stopping what does not run has code 829: no: code 0"},
		"renamed":     {simulator.Fault{API: "*", Keys: "address"}, "results-renamed", belief.Yes, "some named the host otherwise"},
		"no-restart":  {simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpRestart), Code: new(65535), Message: "no such file"}, "restart-keeps-hosting", belief.Unknown, "✗ a step ended early: restart: code 65535: no such file"},
		"queued":      {simulator.Fault{API: "*", Queued: 1}, "second-start", "828", `✓ what is in progress: get_proc_operate_result_v2 has code 1000115, "`},
		"pending":     {simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpStart), Pending: 2}, "second-start", "828", `✓ what is in progress: a result has code 115, "handling"`},
		"one-shot":    {simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpStart), Code: new(0), Apply: true, Skip: 2}, "one-shot-start", "0", "✗ Starting a one-shot process has code 836: no: code 0"},
		"no-labels":   {simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos/*/meta/labels": map[string]any{}}}, "rows-without-labels", belief.Yes, "✗ A row has the labels of the registration: no"},
		"stale-rows":  {simulator.Fault{API: "get_proc_status_v2", Missing: -1}, "status-lag", belief.Unknown, "the cached status did not show a start within 10m0s"},
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
			bkapi.APIGW, func(w *world, _ *doctor.Trial) { w.sim.SetReachable(address, false) }, "nothing was done: the agent of " + agentID + " reports no status: code 117",
		},
		"no-permission": {
			bkapi.APIGW, func(w *world, _ *doctor.Trial) {
				w.sim.Inject(simulator.Fault{API: "sync_proc_status", HTTPStatus: 403})
			},
			"nothing was done, because the namespace cannot be listed: ",
		},
		"no-permission-for-rows": {
			bkapi.APIGW, func(w *world, _ *doctor.Trial) {
				w.sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403})
			},
			"nothing was done, because the cached status cannot be read: get_proc_status_v2: HTTP 403",
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

// Whenever it is interrupted, nothing is left on the host, and the error says that it was interrupted.
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
	if err == nil || !strings.Contains(err.Error(), " on "+agentID+": unhosting: code 117") || !strings.Contains(err.Error(), "the agent still has it:") || !strings.Contains(err.Error(), "does not end by itself") {
		t.Errorf("got %v", err)
	}
}

// Promised in your-platform.md: If something may be left, the last line names it and says what to do. A process that is left hosted does not end by itself.
//
// If an agent reports neither hosting nor times, its answer is not sufficient: the unhosting must succeed, and the cached status must show none.
func TestProbe_hostingAndTimesUnreported(t *testing.T) {
	t.Parallel()
	for _, gateway := range bkapi.Gateways() {
		for name, c := range map[string]struct {
			fault *simulator.Fault
			left  string
		}{
			"removed":     {nil, ""},
			"old-row":     {nil, "the cached status still has it after 10m0s"},
			"not-unhosts": {&simulator.Fault{Op: new(simulator.OpUnhost), Code: new(117)}, "the agent does not report whether it hosts the process; unhosting: code 117"},
			"no-rows":     {&simulator.Fault{API: "get_proc_status_v2", Skip: 1, EnvelopeCode: new(1), EnvelopeMessage: "no rows"}, "no rows"},
		} {
			t.Run(string(gateway)+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{AgentsWithoutTimes: true}
				sim.OnCall = func(call simulator.Call) {
					if name == "old-row" && call.Op == simulator.OpKill {
						sim.FreezeStatus()
					}
				}
				w := newWorld(t, gateway, sim)
				w.sim.Inject(simulator.Fault{Op: new(simulator.OpQuery), ContentShape: "no-isauto"})
				if c.fault != nil {
					w.sim.Inject(*c.fault)
				}
				_, err := w.platform.Probe(t.Context(), w.trial(), &doctor.Report{})
				if c.left == "" {
					simtest.Must(t, err)
					w.expectNothing()
				} else if err == nil || !strings.Contains(err.Error(), "may be left") || !strings.Contains(err.Error(), c.left) {
					t.Errorf("got %v, want %s", err, c.left)
				}
			})
		}
	}
}

// What an agent does not report remains unknown, whatever the platform does. Beliefs that do not depend on hosting are determined.
func TestProbe_hostingUnreported(t *testing.T) {
	t.Parallel()
	for _, gateway := range bkapi.Gateways() {
		t.Run(string(gateway), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gateway, &simulator.Server{RegisterHosts: true})
			w.sim.Inject(simulator.Fault{Op: new(simulator.OpQuery), ContentShape: "no-isauto"})
			profile, report := w.probe(w.trial())
			ids := []string{"start-keeps-unhosted", "restart-keeps-hosting", "stop-keeps-hosting", "kill-keeps-hosting", "unregister-keeps-hosting"}
			if gateway == bkapi.ESB {
				ids = append(ids, "register-hosts")
			}
			for _, id := range ids {
				simtest.Want(t, id, profile.Value(id), belief.Unknown)
				simtest.WantIn(t, id, line(t, report, id).String(), "the agent does not report whether it hosts the process")
			}
			for id, want := range map[string]string{"second-start": "828", "second-stop": "829", "status-lag": "0s"} {
				simtest.Want(t, id, profile.Value(id), want)
			}
		})
	}
}

// A start may take effect after an interrupt, or after its answer was lost. The doctor waits for it and undoes it.
// A platform may keep the row of an unregistered process, with status 0.
func TestProbe_keptRow(t *testing.T) {
	t.Parallel()
	for _, gateway := range bkapi.Gateways() {
		t.Run(string(gateway), func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			w := newWorld(t, gateway, sim)
			var last map[string]any
			w.front = func(rw http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "get_proc_status_v2") {
					return false
				}
				recorded := httptest.NewRecorder()
				sim.ServeHTTP(recorded, r)
				var envelope struct {
					Code int `json:"code"`
					Data struct {
						Rows []map[string]any `json:"proc_infos"`
					} `json:"data"`
				}
				providertest.NoError(t, json.Unmarshal(recorded.Body.Bytes(), &envelope))
				if rows := envelope.Data.Rows; len(rows) > 0 {
					last = rows[0]
				} else if last != nil {
					last["status"] = 0
					envelope.Data.Rows = []map[string]any{last}
				}
				providertest.NoError(t, json.NewEncoder(rw).Encode(map[string]any{"result": envelope.Code == 0, "code": envelope.Code, "data": envelope.Data}))
				return true
			}
			began := w.clock.Now()
			_, err := w.platform.Probe(t.Context(), w.trial(), &doctor.Report{})
			simtest.Check(t, err == nil && w.clock.Now().Sub(began) < 5*time.Minute, "after %s: %v", w.clock.Now().Sub(began), err)
			w.expectNothing()
		})
	}
}

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

// A manage_proc may take effect after its answer was lost. The doctor waits for it too, and asks the agent before it reports that nothing is left.
func TestProbe_lateManageProc(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		undo simulator.Fault // for the call that removes the process
		left string
	}{
		"removed":  {simulator.Fault{API: "none"}, ""},
		"refused":  {simulator.Fault{API: "operate_process", Op: new(simulator.OpUnhost), HTTPStatus: 403}, "operate_process: HTTP 403"},
		"not-done": {simulator.Fault{API: "operate_process", Op: new(simulator.OpUnhost), Code: new(0)}, "the agent still has it"},
		"failed":   {simulator.Fault{API: "operate_process", Op: new(simulator.OpUnhost), Code: new(117), Message: "away"}, "code 117: the agent is abnormal or not found: away"},
		"unseen":   {simulator.Fault{API: "operate_process", Op: new(simulator.OpQuery), Code: new(117), Message: "away", Skip: 1}, "away"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bkapi.ESB, &simulator.Server{})
			w.sim.Inject(simulator.Fault{API: "manage_proc", Drop: "after"})
			w.sim.Inject(simulator.Fault{API: "manage_proc", Takes: 15 * time.Second})
			w.sim.Inject(c.undo)
			trial := w.trial()
			trial.Business = 2
			report := &doctor.Report{}
			_, err := w.platform.Probe(t.Context(), trial, report)
			switch {
			case c.left == "":
				simtest.Must(t, err)
				simtest.Want(t, "manage-proc-bug", line(t, report, "manage-proc-bug").State, doctor.Undetermined)
				_ = w.clock.Pause(t.Context(), time.Hour)
				w.expectNothing()
			case err == nil || !strings.Contains(err.Error(), "may be left: bk-doctor-") || !strings.Contains(err.Error(), " of JOB on "+address+": ") || !strings.Contains(err.Error(), c.left):
				t.Errorf("got %v, want %s", err, c.left)
			}
		})
	}
}

// checked runs the check, and fails the test if it changed anything.
func (w *world) checked(q doctor.Questions) *doctor.Report {
	w.Helper()
	report := &doctor.Report{}
	before := w.sim.Processes()
	simtest.Must(w.T, w.platform.Check(w.Context(), q, report))
	simtest.Want(w.T, "processes", w.sim.Processes(), before)
	simtest.Want(w.T, "executions", len(w.sim.Executions()), 0)
	return report
}

func line(t *testing.T, report *doctor.Report, id string) doctor.Line {
	t.Helper()
	i := slices.IndexFunc(report.Lines, func(l doctor.Line) bool { return l.ID == id })
	if i < 0 {
		t.Fatalf("there is no line %s:\n%s", id, lines(report))
	}
	return report.Lines[i]
}

// A check calls every API that the provider calls, reports no problem on a healthy platform, and changes nothing.
func TestCheck_well(t *testing.T) {
	t.Parallel()
	table, err := providertest.EndpointTable()
	simtest.Must(t, err)
	for _, gateway := range bkapi.Gateways() {
		t.Run(string(gateway), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gateway, &simulator.Server{})
			simtest.Must(t, w.sim.Register(address, "web", "nginx", nil, ""))
			report := w.checked(doctor.Questions{Hosts: []fleet.Host{w.trial().Host}, Namespace: "web", Business: 1, Calls: 20, Files: gateway == bkapi.APIGW})
			for _, l := range report.Lines {
				if l.State != doctor.Well && l.ID != "versions" && l.ID != "old-cmdb" {
					t.Errorf("%s", l)
				}
			}
			for _, apis := range table {
				for _, api := range apis[gateway] {
					script := slices.Contains(table["bk_hosted_specs"][gateway], api) // which is one line
					if !script && line(t, report, api).Milliseconds == 0 {
						t.Errorf("%s has no time", api)
					}
				}
			}
		})
	}
}

// turnsAway rejects calls of an API before the platform reads them, as a gateway does.
func turnsAway(api string, status int, body string) func(*world) {
	return func(w *world) {
		w.front = func(rw http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, api) {
				return false
			}
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte(body))
			return true
		}
	}
}

func hangUp(w *world) {
	w.front = func(rw http.ResponseWriter, _ *http.Request) bool {
		if conn, _, err := http.NewResponseController(rw).Hijack(); err == nil {
			_ = conn.Close()
		}
		return true
	}
}

// oldRows are rows that have not been renewed for an hour.
func oldRows(w *world) {
	_ = w.sim.Register(address, "web", "nginx", nil, "")
	w.sim.FreezeStatus()
	_ = w.clock.Pause(w.Context(), time.Hour)
}

// twoPages are more rows than a page has.
func twoPages(w *world) {
	for i := range 1000 {
		_ = w.sim.Register(address, "web", fmt.Sprintf("nginx-%d", i), nil, "")
	}
	oldRows(w)
}

// Promised in your-platform.md: the first call. If it fails, nothing else is asked
// Promised in your-platform.md: what the provider would warn about: plain HTTP, a certificate that is not verified
//
// Each problem has a line that says what to do, and checks that depend on it are skipped.
func TestCheck_finds(t *testing.T) {
	t.Parallel()
	const esb, apigw = bkapi.ESB, bkapi.APIGW
	another := func() *simulator.Server { return &simulator.Server{AppSecret: "another"} }
	away := func(w *world) { w.sim.SetReachable(address, false) }
	inject := func(f simulator.Fault) func(*world) { return func(w *world) { w.sim.Inject(f) } }
	for name, c := range map[string]struct {
		gateway bkapi.Gateway
		sim     *simulator.Server
		arrange func(*world)
		id      string
		state   doctor.State
		says    []string
		ends    bool // no further call is made
	}{
		"no-server":             {esb, nil, hangUp, "reachable", doctor.Found, []string{"BK_ENDPOINT"}, true},
		"esb-secret":            {esb, another(), nil, "credentials", doctor.Found, []string{"APP Secret verification failed", "BK_APP_SECRET"}, true},
		"gateway-secret":        {apigw, another(), nil, "credentials", doctor.Found, []string{"HTTP 401", "BK_APP_SECRET"}, true},
		"gateway-400":           {apigw, &simulator.Server{AppSecret: "another", UnverifiedStatus400: true}, nil, "credentials", doctor.Found, []string{"HTTP 400", "BK_APP_SECRET"}, true},
		"gateway-user":          {apigw, &simulator.Server{Username: "joe"}, nil, "credentials", doctor.Found, []string{"User authentication failed"}, true},
		"not-the-platform":      {esb, nil, inject(simulator.Fault{API: "*", HTTPStatus: 200, Body: "<html>log in"}), "reachable", doctor.Found, []string{"BK_ENDPOINT"}, true},
		"no-page":               {esb, nil, turnsAway("/", 502, "<html>Bad Gateway"), "reachable", doctor.Found, []string{"HTTP 502", "BK_ENDPOINT"}, true},
		"too-large":             {apigw, nil, turnsAway("/", 413, "<html>Too Large"), "reachable", doctor.Found, []string{"HTTP 413", "BK_ENDPOINT"}, true},
		"always-busy":           {apigw, nil, turnsAway("/", 429, `{"code":1642902,"message":"rate limit"}`), "reachable", doctor.Found, []string{"rate limit"}, true},
		"no-backend":            {esb, nil, turnsAway("/", 200, backendError), "reachable", doctor.Found, []string{"code 1306201"}, true},
		"no-such-path":          {apigw, another(), turnsAway("/", 404, notThere), "reachable", doctor.Found, []string{"HTTP 404", "Check BK_ENDPOINT and BK_GATEWAY"}, true},
		"bad-gateway-of-api":    {apigw, nil, turnsAway("sync_proc_status", 502, "<html>Bad Gateway"), "sync_proc_status", doctor.Undetermined, []string{"HTTP 502"}, false},
		"busy-api":              {apigw, nil, turnsAway("sync_proc_status", 429, `{"code":1642902,"message":"rate limit"}`), "sync_proc_status", doctor.Undetermined, []string{"rate limit"}, false},
		"busy-api-esb":          {esb, nil, turnsAway("sync_proc_status", 200, `{"result":false,"code":1306429,"message":"rate limit"}`), "sync_proc_status", doctor.Undetermined, []string{"rate limit"}, false},
		"no-backend-of-api":     {esb, nil, turnsAway("/register_proc_info", 200, backendError), "register_proc_info", doctor.Undetermined, []string{"code 1306201"}, false},
		"no-backend-of-job":     {esb, nil, turnsAway("/jobv3/", 200, backendError), "job-removed", doctor.Undetermined, []string{"code 1306201"}, false},
		"permission-of-job":     {esb, nil, turnsAway("/jobv3/manage_proc", 403, noPermission), "manage_proc", doctor.Found, []string{"Apply for the API manage_proc of system JOB"}, false},
		"permission-center":     {apigw, nil, turnsAway("dynamicgroup/search", 200, `{"result":false,"code":9900403,"message":"You have no permission"}`), "search_dynamic_group", doctor.Found, []string{"You have no permission", "in the permission center"}, false},
		"permission-gateway":    {apigw, nil, turnsAway("operate_proc_multi", 403, noPermission), "operate_proc_multi", doctor.Found, []string{"App has no permission", "Apply for the API operate_proc_multi of gateway bk-gse"}, false},
		"permission-esb":        {esb, nil, turnsAway("/register_proc_info", 200, `{"result":false,"code":1306401,"message":"no permission"}`), "register_proc_info", doctor.Found, []string{"no permission", "Apply for the API register_proc_info of system GSE"}, false},
		"permission-of-results": {apigw, nil, turnsAway("get_proc_operate_result_v2", 403, noPermission), "get_proc_operate_result_v2", doctor.Found, []string{"Apply for the API"}, false},
		"missing-api":           {apigw, nil, turnsAway("sync_proc_status", 404, notThere), "sync_proc_status", doctor.Found, []string{"does not have it", "listing a namespace"}, false},
		"first-way-alone":       {apigw, nil, turnsAway("service_instance/details", 403, noPermission), "list_service_instance_detail", doctor.Well, []string{"not needed: bk_cmdb_processes reads processes with list_process_related_info"}, false},
		"second-way-alone":      {apigw, nil, turnsAway("process_related_info", 403, noPermission), "list_process_related_info", doctor.Well, []string{"not granted", "with list_service_instance_detail, with a call for each module"}, false},
		"second-way-alone-esb":  {esb, nil, turnsAway("list_process_related_info", 200, `{"result":false,"code":1306404,"message":"Not found"}`), "list_process_related_info", doctor.Well, []string{"not granted", "with list_service_instance_detail"}, false},
		"status-400-of-system":  {apigw, nil, turnsAway("operate_proc_multi", 400, `{"result":false,"code":1000001,"message":"meta.namespace is required"}`), "operate_proc_multi", doctor.Well, []string{"granted"}, false},
		"status-500-of-system":  {apigw, nil, turnsAway("dynamicgroup/search", 500, `{"result":false,"bk_error_code":1199006,"bk_error_msg":"bad params"}`), "search_dynamic_group", doctor.Well, []string{"granted"}, false},
		"status-404-of-task":    {apigw, nil, turnsAway("get_proc_operate_result_v2", 404, `{"result":false,"code":1000112,"message":"task not found"}`), "reachable", doctor.Well, []string{"answers"}, false},
		"neither-way":           {apigw, nil, turnsAway("findmany/proc/", 403, noPermission), "list_process_related_info", doctor.Found, []string{"App has no permission", "Apply for the API list_process_related_info"}, false},
		"job-removed":           {esb, &simulator.Server{JobRemoved: true}, nil, "job-removed", doctor.Found, []string{"bk_hosted_process"}, false},
		"old-cmdb":              {apigw, &simulator.Server{OldCMDB: true}, nil, "old-cmdb", doctor.Found, []string{"bk_error_code", "both are read"}, false},
		"expired-empty":         {esb, &simulator.Server{ExpiredEmpty: true}, nil, "expired-empty", doctor.Found, []string{"its results are empty"}, false},
		"agent-away":            {apigw, nil, away, "agent " + agentID, doctor.Found, []string{"code 117", "NodeMan"}, false},
		"file-elsewhere":        {apigw, &simulator.Server{ProcPath: "/opt/agent/etc/.proc"}, nil, "file " + agentID, doctor.Found, []string{"the agent's directory is not there", "does not verify this host"}, false},
		"file-by-esb":           {esb, nil, nil, "file " + address, doctor.Found, []string{"it takes the gateway or JOB"}, false},
		"limit":                 {apigw, nil, inject(simulator.Fault{API: "get_proc_operate_result_v2", HTTPStatus: 429, Skip: 8}), "rate", doctor.Found, []string{"of 10 calls were turned away", "requests_per_second"}, false},
		"old-rows":              {esb, nil, oldRows, "status-age", doctor.Found, []string{"1h0m0s old"}, false},
		"two-pages":             {esb, nil, twoPages, "status-age", doctor.Found, []string{"the newest of the first 1000 of its 1001 rows is 1h0m0s old"}, false},
		"no-rows":               {esb, nil, nil, "status-age", doctor.Undetermined, []string{`namespace "web" has no row`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.gateway, cmp.Or(c.sim, &simulator.Server{}))
			if c.arrange != nil {
				c.arrange(w)
			}
			report := w.checked(doctor.Questions{Hosts: []fleet.Host{w.trial().Host}, Namespace: "web", Calls: 10, Files: true})
			l := line(t, report, c.id)
			for _, words := range c.says {
				providertest.Check(t, l.State == c.state && strings.Contains(l.String(), words), "%s: %s, want %s and %q", l.State, l, c.state, words)
			}
			simtest.Want(t, "the check ended there", report.Lines[len(report.Lines)-1].ID == c.id, c.ends)
			providertest.Check(t, !strings.Contains(lines(report), simulator.DefaultAppSecret), "the report contains the secret:\n%s", lines(report))
		})
	}
}

// Promised in your-platform.md: only with `-calls 50`: that many calls at once, without the provider's own limits
//
// Requests that look for the platform's limit are not subject to the provider's own limits.
func TestCheck_callsAtOnce(t *testing.T) {
	t.Parallel()
	const calls, before = 20, 2 // the first call, and the one for its permission
	w := newWorld(t, bkapi.APIGW, &simulator.Server{})
	var arrived atomic.Int64
	all := make(chan struct{})
	w.front = func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "get_proc_operate_result_v2") {
			return false
		}
		if n := arrived.Add(1); n == before+calls {
			close(all)
		} else if n > before {
			select {
			case <-all:
			case <-time.After(10 * time.Second):
				t.Errorf("only %d of %d calls came at once", arrived.Load()-before, calls)
			}
		}
		return false
	}
	simtest.WantIn(t, "limit", line(t, w.checked(doctor.Questions{Calls: calls}), "rate").String(), "✓ limit on calls: none met in 20 calls")
}

// A call that fails for another reason than a limit shows nothing about limits.
func TestCheck_callsThatFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bkapi.APIGW, &simulator.Server{})
	turnsAway("get_proc_operate_result_v2", 403, noPermission)(w)
	simtest.WantIn(t, "limit", line(t, w.checked(doctor.Questions{Calls: 20}), "rate").String(), "? limit on calls: unknown: get_proc_operate_result_v2: HTTP 403 Forbidden")
}

// noPermission and notThere are a gateway's answers when it rejects calls.
const (
	noPermission = `{"code":1640301,"message":"App has no permission"}`
	backendError = `{"result":false,"code":1306201,"message":"Status Code: 500"}`
	notThere     = `{"code":1640401,"message":"API not found"}`
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	address   = "0:10.0.0.9"
	agentID   = "0200000007525400f355781710390005465c"
	namespace = "doctor_test"
)

// world is a simulator with one machine that has two names, and the doctor's clients for it.
type world struct {
	*testing.T
	sim      *simulator.Server
	clock    *providertest.Clock
	platform *doctor.Platform
	// front, if non-nil, answers in place of the simulator when it returns true.
	front func(http.ResponseWriter, *http.Request) bool
}

// newWorld serves a simulator behind a gateway. Only pauses take time on its clock, and with them the simulator supervises.
func newWorld(t *testing.T, gateway bkapi.Gateway, sim *simulator.Server) *world {
	t.Helper()
	w := &world{T: t, sim: sim, clock: &providertest.Clock{OnPause: func(int) { sim.Tick() }}}
	sim.Now = w.clock.Now
	sim.AddAgent(agentID, address)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.front == nil || !w.front(rw, r) {
			sim.ServeHTTP(rw, r)
		}
	}))
	config := bkapi.Config{
		Endpoint: server.URL, Gateway: gateway, AppCode: simulator.DefaultAppCode, AppSecret: simulator.DefaultAppSecret, Username: "admin",
		MaxRetries: 2, RetryWaitMax: time.Millisecond, Limits: bkapi.NewLimits(8, 0),
	}
	job, cmdb := config, config
	job.Gateway = bkapi.ESB
	if gateway == bkapi.APIGW {
		config.Endpoint += "/api/bk-gse/prod"
		cmdb.Endpoint += "/api/bk-cmdb/prod"
	}
	api, err := bkapi.New(config)
	simtest.Must(t, err)
	backoff := poll.Backoff{First: time.Millisecond, Max: time.Millisecond}
	client := gse.NewClient(api, gateway, procapi.Options{MaxHosts: 10, Backoff: backoff})
	w.platform, err = doctor.Connect(&platform.Platform{Gateway: gateway, GSE: client, Clock: w.clock, Backoff: backoff}, doctor.Configs{GSE: config, JOB: job, CMDB: cmdb, JOBAPI: "jobv3"})
	simtest.Must(t, err)
	t.Cleanup(func() {
		w.platform.Close()
		api.Close()
		server.Close()
		simtest.Must(t, sim.Close())
	})
	return w
}

func host(t *testing.T, text string) fleet.Host {
	t.Helper()
	h, err := fleet.ParseHost(text, 0)
	simtest.Must(t, err)
	return h
}

// trial is the doctor's input. At the gateway, hosts are named by agent id.
func (w *world) trial() doctor.Trial {
	h := address
	if w.platform.Gateway == bkapi.APIGW {
		h = agentID
	}
	return doctor.Trial{Host: host(w.T, h), Namespace: namespace, User: "root", Watch: 10 * time.Second, Patience: 10 * time.Minute}
}

func (w *world) expectNothing() {
	w.Helper()
	for _, p := range w.sim.Processes() {
		w.Errorf("left: %s:%s on %s, registered %t, hosted %t, running %t", p.Namespace, p.Name, p.Host, p.Registered, p.Hosted, p.Running)
	}
}
