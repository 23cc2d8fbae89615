package doctor_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

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
		"permission-gateway":    {apigw, nil, turnsAway("operate_proc_multi", 403, noPermission), "operate_proc_multi", doctor.Found, []string{"App has no permission", "Apply for the API operate_proc_multi of gateway bk-gse"}, false},
		"permission-esb":        {esb, nil, turnsAway("/register_proc_info", 200, `{"result":false,"code":1306401,"message":"no permission"}`), "register_proc_info", doctor.Found, []string{"no permission", "Apply for the API register_proc_info of system GSE"}, false},
		"permission-of-results": {apigw, nil, turnsAway("get_proc_operate_result_v2", 403, noPermission), "get_proc_operate_result_v2", doctor.Found, []string{"Apply for the API"}, false},
		"missing-api":           {apigw, nil, turnsAway("sync_proc_status", 404, notThere), "sync_proc_status", doctor.Found, []string{"does not have it", "listing a namespace"}, false},
		"first-way-alone":       {apigw, nil, turnsAway("service_instance/details", 403, noPermission), "list_service_instance_detail", doctor.Well, []string{"not needed: bk_cmdb_processes reads processes with list_process_related_info"}, false},
		"second-way-alone":      {apigw, nil, turnsAway("process_related_info", 403, noPermission), "list_process_related_info", doctor.Well, []string{"not granted", "with list_service_instance_detail, with a call for each module"}, false},
		"second-way-alone-esb":  {esb, nil, turnsAway("list_process_related_info", 200, `{"result":false,"code":1306404,"message":"Not found"}`), "list_process_related_info", doctor.Well, []string{"not granted", "with list_service_instance_detail"}, false},
		"neither-way":           {apigw, nil, turnsAway("findmany/proc/", 403, noPermission), "list_process_related_info", doctor.Found, []string{"App has no permission", "Apply for the API list_process_related_info"}, false},
		"job-removed":           {esb, &simulator.Server{JobRemoved: true}, nil, "job-removed", doctor.Found, []string{"bk_hosted_process"}, false},
		"old-cmdb":              {apigw, &simulator.Server{OldCMDB: true}, nil, "old-cmdb", doctor.Found, []string{"bk_error_code", "both are read"}, false},
		"expired-empty":         {esb, &simulator.Server{ExpiredEmpty: true}, nil, "expired-empty", doctor.Found, []string{"its results are empty"}, false},
		"agent-away":            {apigw, nil, away, "agent " + agentID, doctor.Found, []string{"code 117", "NodeMan"}, false},
		"file-elsewhere":        {apigw, &simulator.Server{ProcPath: "/opt/agent/etc/.proc"}, nil, "file " + agentID, doctor.Found, []string{"the agent's directory is not there", "does not verify this host"}, false},
		"file-by-esb":           {esb, nil, nil, "file " + address, doctor.Found, []string{"it takes the gateway or JOB"}, false},
		"limit":                 {apigw, nil, inject(simulator.Fault{API: "get_proc_operate_result_v2", HTTPStatus: 429, Skip: 8}), "rate", doctor.Found, []string{"of 10 calls were turned away", "requests_per_second"}, false},
		"old-rows":              {esb, nil, oldRows, "status-age", doctor.Found, []string{"1h0m0s old"}, false},
		"no-rows":               {esb, nil, nil, "status-age", doctor.Untold, []string{`namespace "web" has no row`}, false},
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

// noPermission and notThere are how a gateway turns calls away.
const (
	noPermission = `{"code":1640301,"message":"App has no permission"}`
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
		MaxRetries: 2, RetryWaitMax: time.Millisecond,
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
