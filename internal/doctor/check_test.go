package doctor_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/doctor"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// checked runs the check, and fails the test if it changed anything.
func (w *world) checked(q doctor.Questions) *doctor.Report {
	w.Helper()
	report := &doctor.Report{}
	before := w.sim.Processes()
	if err := w.platform.Check(w.Context(), q, report); err != nil {
		w.Error(err)
	}
	if diff := cmp.Diff(before, w.sim.Processes()); diff != "" || len(w.sim.Executions()) > 0 {
		w.Errorf("the check changed something: %s %+v", diff, w.sim.Executions())
	}
	return report
}

// line is the line with an id.
func line(t *testing.T, report *doctor.Report, id string) doctor.Line {
	t.Helper()
	i := slices.IndexFunc(report.Lines, func(l doctor.Line) bool { return l.ID == id })
	if i < 0 {
		t.Fatalf("there is no line %s:\n%s", id, lines(report))
	}
	return report.Lines[i]
}

// A check calls every API that the provider calls, reports no problem on a healthy platform, and changes
// nothing.
func TestCheck_well(t *testing.T) {
	t.Parallel()
	table, err := providertest.EndpointTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, gateway := range bkapi.Gateways() {
		t.Run(string(gateway), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gateway, &simulator.Server{})
			if err := w.sim.Register(address, "web", "nginx", nil, ""); err != nil {
				t.Fatal(err)
			}
			report := w.checked(doctor.Questions{Hosts: []fleet.Host{w.trial().Host}, Namespace: "web", Business: 1, Calls: 20, Files: gateway == bkapi.APIGW})
			for _, l := range report.Lines {
				if l.State != doctor.Well && !slices.Contains([]string{"versions", "old-cmdb"}, l.ID) {
					t.Errorf("%s", l)
				}
			}
			want := make(map[string]bool)
			for _, apis := range table {
				for _, api := range apis[gateway] {
					want[api] = !slices.Contains(table["bk_hosted_specs"][gateway], api) // the script is one line
				}
			}
			for api, asked := range want {
				if asked && line(t, report, api).Milliseconds == 0 {
					t.Errorf("%s has no time", api)
				}
			}
		})
	}
}

// turnsAway makes calls of an API end before the platform reads them, as a gateway does.
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

// Promised in your-platform.md: the first call. If it fails, nothing else is asked
// Promised in your-platform.md: what the provider would warn about: plain HTTP, a certificate that is not verified
//
// Each problem has a line that says what to do, and checks that depend on it are skipped.
func TestCheck_finds(t *testing.T) {
	t.Parallel()
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
		"esb-secret":       {bkapi.ESB, &simulator.Server{AppSecret: "another"}, nil, "credentials", doctor.Found, []string{"APP Secret verification failed", "BK_APP_SECRET"}, true},
		"gateway-secret":   {bkapi.APIGW, &simulator.Server{AppSecret: "another"}, nil, "credentials", doctor.Found, []string{"HTTP 401", "BK_APP_SECRET"}, true},
		"gateway-400":      {bkapi.APIGW, &simulator.Server{AppSecret: "another", UnverifiedStatus400: true}, nil, "credentials", doctor.Found, []string{"HTTP 400", "BK_APP_SECRET"}, true},
		"gateway-user":     {bkapi.APIGW, &simulator.Server{Username: "joe"}, nil, "credentials", doctor.Found, []string{"User authentication failed"}, true},
		"not-the-platform": {bkapi.ESB, nil, inject(simulator.Fault{API: "*", HTTPStatus: 200, Body: "<html>log in"}), "reachable", doctor.Found, []string{"BK_ENDPOINT"}, true},
		"permission-gateway": {
			bkapi.APIGW, nil, turnsAway("operate_proc_multi", 403, `{"code":1640301,"message":"App has no permission"}`),
			"operate_proc_multi", doctor.Found, []string{"App has no permission", "Apply for the API operate_proc_multi of gateway bk-gse"}, false,
		},
		"permission-esb": {
			bkapi.ESB, nil, turnsAway("/register_proc_info", 200, `{"result":false,"code":1306401,"message":"no permission"}`),
			"register_proc_info", doctor.Found, []string{"no permission", "Apply for the API register_proc_info of system GSE"}, false,
		},
		"permission-of-results": {
			bkapi.APIGW, nil, turnsAway("get_proc_operate_result_v2", 403, `{"code":1640301,"message":"App has no permission"}`),
			"get_proc_operate_result_v2", doctor.Found, []string{"Apply for the API"}, false,
		},
		"missing-api": {
			bkapi.APIGW, nil, turnsAway("sync_proc_status", 404, `{"code":1640401,"message":"API not found"}`),
			"sync_proc_status", doctor.Found, []string{"does not have it", "listing a namespace"}, false,
		},
		"first-way-alone": {
			bkapi.APIGW, nil, turnsAway("service_instance/details", 403, `{"code":1640301,"message":"App has no permission"}`),
			"list_service_instance_detail", doctor.Well, []string{"not needed: bk_cmdb_processes reads processes with list_process_related_info"}, false,
		},
		"second-way-alone": {
			bkapi.APIGW, nil, turnsAway("process_related_info", 403, `{"code":1640301,"message":"App has no permission"}`),
			"list_process_related_info", doctor.Well, []string{"not granted", "with list_service_instance_detail, with a call for each module"}, false,
		},
		"second-way-alone-esb": {
			bkapi.ESB, nil, turnsAway("list_process_related_info", 200, `{"result":false,"code":1306404,"message":"Not found"}`),
			"list_process_related_info", doctor.Well, []string{"not granted", "with list_service_instance_detail"}, false,
		},
		"neither-way": {
			bkapi.APIGW, nil, turnsAway("findmany/proc/", 403, `{"code":1640301,"message":"App has no permission"}`),
			"list_process_related_info", doctor.Found, []string{"App has no permission", "Apply for the API list_process_related_info"}, false,
		},
		"job-removed":   {bkapi.ESB, &simulator.Server{JobRemoved: true}, nil, "job-removed", doctor.Found, []string{"bk_hosted_process"}, false},
		"old-cmdb":      {bkapi.APIGW, &simulator.Server{OldCMDB: true}, nil, "old-cmdb", doctor.Found, []string{"bk_error_code", "both are read"}, false},
		"expired-empty": {bkapi.ESB, &simulator.Server{ExpiredEmpty: true}, nil, "expired-empty", doctor.Found, []string{"its results are empty"}, false},
		"agent-away":    {bkapi.APIGW, nil, away, "agent " + agentID, doctor.Found, []string{"code 117", "NodeMan"}, false},
		"file-elsewhere": {
			bkapi.APIGW, &simulator.Server{ProcPath: "/opt/agent/etc/.proc"}, nil,
			"file " + agentID, doctor.Found, []string{"the agent's directory is not there", "does not verify this host"}, false,
		},
		"file-by-esb": {bkapi.ESB, nil, nil, "file " + address, doctor.Found, []string{"it takes the gateway or JOB"}, false},
		"limit": {
			bkapi.APIGW, nil, inject(simulator.Fault{API: "get_proc_operate_result_v2", HTTPStatus: 429, Skip: 8}),
			"rate", doctor.Found, []string{"of 10 calls were turned away", "requests_per_second"}, false,
		},
		"old-rows": {bkapi.ESB, nil, func(w *world) {
			_ = w.sim.Register(address, "web", "nginx", nil, "")
			w.sim.FreezeStatus()
			_ = w.clock.Pause(w.Context(), time.Hour)
		}, "status-age", doctor.Found, []string{"1h0m0s old"}, false},
		"no-rows": {bkapi.ESB, nil, nil, "status-age", doctor.Untold, []string{`namespace "web" has no row`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.sim == nil {
				c.sim = &simulator.Server{}
			}
			w := newWorld(t, c.gateway, c.sim)
			if c.arrange != nil {
				c.arrange(w)
			}
			report := w.checked(doctor.Questions{Hosts: []fleet.Host{w.trial().Host}, Namespace: "web", Calls: 10, Files: true})
			l := line(t, report, c.id)
			for _, words := range c.says {
				if l.State != c.state || !strings.Contains(l.String(), words) {
					t.Errorf("%s: %s, want %s and %q", l.State, l, c.state, words)
				}
			}
			if ended := report.Lines[len(report.Lines)-1].ID == c.id; ended != c.ends {
				t.Errorf("the check ended there: %t, want %t:\n%s", ended, c.ends, lines(report))
			}
			if strings.Contains(lines(report), simulator.DefaultAppSecret) {
				t.Errorf("the report contains the secret:\n%s", lines(report))
			}
		})
	}
}

// If no server answers, one line says so.
func TestCheck_noServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bkapi.ESB, &simulator.Server{})
	w.front = func(rw http.ResponseWriter, _ *http.Request) bool {
		if conn, _, err := http.NewResponseController(rw).Hijack(); err == nil {
			_ = conn.Close()
		}
		return true
	}
	report := w.checked(doctor.Questions{})
	if l := line(t, report, "reachable"); l.State != doctor.Found || !strings.Contains(l.Next, "BK_ENDPOINT") || len(report.Lines) != 2 {
		t.Errorf("got\n%s", lines(report))
	}
}
