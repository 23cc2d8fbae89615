package face_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestESB_unknownRoutes(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	for name, test := range map[string]struct {
		method, path, body string
		status, code       int
	}{
		"unknown-name":     {http.MethodPost, "gse/operate_process", simtest.Signed(`{"x":1}`), http.StatusOK, simulator.CodeAPINotFound},
		"unknown-job-name": {http.MethodPost, "jobv3/operate_proc_v2", simtest.Signed(`{"x":1}`), http.StatusOK, simulator.CodeAPINotFound},
		"get":              {http.MethodGet, "gse/sync_proc_status/", "", http.StatusMethodNotAllowed, -1},
		"get-job":          {http.MethodGet, "jobv3/manage_proc/", "", http.StatusMethodNotAllowed, -1},
		"unknown-system":   {http.MethodPost, "usermanage/list_users/", "", http.StatusNotFound, -1},
	} {
		got := c.Request(test.method, "/api/c/compapi/v2/"+test.path, test.body, nil)
		if got.Status != test.status || test.code >= 0 && got.Code != test.code {
			t.Errorf("%s: HTTP %d %v", name, got.Status, got.Body)
		}
		simtest.Want(t, name+": violations", len(c.Sim.Violations()), 1)
		c.Sim.ResetViolations()
	}
}

func TestESB_keys(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	sim.AddHost("0:10.0.0.1", "0:2001:db8::1")
	c := simtest.NewClient(t, sim)
	// An address is returned as it was sent, whatever its canonical form.
	for _, ip := range []string{"2001:db8::1", "2001:0db8:0::1"} {
		simtest.WantCode(t, "query on "+ip, c.Do(simulator.OpQuery, ip), 0)
	}
	v := c.Call("register_proc_info", "2001:db8::1")
	simtest.Check(t, v.Code == simulator.CodeFailed && strings.Contains(v.Message, "IPv4"), "register on IPv6: %+v", v)
	twice := c.Poll(c.Operate(simulator.OpStart, "10.0.0.1", "10.0.0.1")).Data
	simtest.Want(t, "results of a host that is given twice", len(twice), 1)
	simtest.WantCode(t, "a host that is given twice", simtest.VerdictOf(t, twice, "0:10.0.0.1:web:nginx"), 0)
}

func TestGateway_paths(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	for _, path := range []string{
		"/api/v2/proc/sync_proc_status",
		"/api/v2/proc/sync_proc_status/",
		"/api/bk-gse/prod/api/v2/proc/sync_proc_status",
		"/some/where/else/api/v2/proc/sync_proc_status/",
	} {
		got := c.Request(http.MethodPost, path, `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`, map[string]string{"X-Bkapi-Authorization": simtest.GatewayAuth})
		simtest.Want(t, path, []int{got.Status, got.Code}, []int{http.StatusOK, 0})
		simtest.Want(t, path, slices.Sorted(maps.Keys(got.Body)), []string{"code", "data", "message"})
		simtest.Check(t, got.Header.Get("X-Bkapi-Request-Id") != "", "%s: no request id", path)
		last := c.Sim.Calls().Last()
		simtest.Want(t, path, last.Face+" "+last.API, "apigw sync_proc_status")
	}
}

func TestGateway_notFound(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	for _, route := range []string{
		"POST /api/v2/proc/register_proc_info",
		"POST /api/v2/proc/unregister_proc_info",
		"POST /api/v2/proc/list_agent_state",
		"POST /api/v2/cluster/sync_proc_status",
		"POST /api/v2/task/async_execute_script",
		"POST /api/v2/proc/operate_proc",
		"POST /api/v2/sync_proc_status",
		"GET /api/v2/proc/sync_proc_status",
	} {
		method, path, _ := strings.Cut(route, " ")
		got := c.Request(method, simtest.GatewayStage+path, `{}`, nil)
		simtest.Want(t, route, []int{got.Status, got.Code}, []int{http.StatusNotFound, simulator.CodeGatewayAPINotFound})
		simtest.Want(t, route, got.Message, fmt.Sprintf("API not found [method=%q path=%q]", method, simtest.GatewayStage+path))
		simtest.Want(t, route+": violations", len(c.Sim.Violations()), 1)
		c.Sim.ResetViolations()
	}
}

// Rows of the gateway name their host by either name, by both or by none.
func TestRows_names(t *testing.T) {
	t.Parallel()
	for rows, want := range map[string]string{"": "bk_agent_id host", "host": "host", "agent": "bk_agent_id", "none": "", "both": "bk_agent_id host"} {
		c := simtest.TwoNames(t, func(sim *simulator.Server) {
			sim.RowsWithoutHost, sim.RowsWithoutAgentID = rows == "both", rows == "both"
		})
		c.Sim.Inject(simulator.Fault{API: "*proc_status*", Rows: rows})
		c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
		for _, row := range append(simtest.RowsOf(t, c.GatewaySync()), c.GatewayRows(simtest.Agents(simtest.ByAgent))...) {
			var got []string
			for _, member := range []string{"bk_agent_id", "host"} {
				if _, there := row[member]; there {
					got = append(got, member)
				}
			}
			simtest.Want(t, "members with "+rows, strings.Join(got, " "), want)
		}
	}
}

func TestSetLag_beforeTheLastChange(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t)
	c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
	c.SwitchOn("POST", "status", `{"lag":-1}`)
	status := func() (text string) {
		for _, row := range c.GatewayRows(simtest.CloudHosts("10.0.0.1")) {
			text += fmt.Sprint(row["status"], row["isauto"])
		}
		return text
	}
	for _, step := range []struct {
		op   int
		want string
	}{
		{simulator.OpStart, "2 true"}, {simulator.OpUnhost, "1 true"}, {simulator.OpStop, ""}, {simulator.OpHost, ""}, {simulator.OpStart, "2 true"},
	} {
		c.Over(simtest.ByAgent, step.op, simulator.CodeOK)
		for range 3 {
			simtest.Want(t, fmt.Sprint("after op ", step.op), status(), step.want)
		}
	}
	c.Sim.SetLag(1)
	c.Over(simtest.ByAgent, simulator.OpUnhost, simulator.CodeOK)
	c.SwitchOn("POST", "status", `{"lag":0}`)
	simtest.Want(t, "up to date", status(), "")
}

// The ESB requires credentials in the body, the gateway in a header. Each has its own error texts.
func TestFaces_credentials(t *testing.T) {
	t.Parallel()
	const (
		app        = `"bk_app_code":"app","bk_app_secret":"secret"`
		admin      = `"bk_username":"admin"`
		sync       = `"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`
		unverified = simulator.CodeAppUnverified
	)
	for name, test := range map[string]struct {
		credentials string
		esb         string // part of the message, empty for success
		code        int    // at the gateway
		gateway     string
	}{
		"username":        {app + "," + admin, "", 0, ""},
		"token":           {app + `,"bk_token":"tk"`, "", 0, ""},
		"access-token":    {app + `,"access_token":"at"`, "", 0, ""},
		"ticket":          {app + `,"bk_ticket":"ti"`, "", 0, ""},
		"token-alone":     {`"access_token":"at"`, "", 0, ""},
		"none":            {"", "[bk_app_code] cannot be empty", unverified, "app code cannot be empty"},
		"no-code":         {`"bk_app_secret":"secret",` + admin, "[bk_app_code] cannot be empty", unverified, "app code cannot be empty"},
		"no-secret":       {`"bk_app_code":"app",` + admin, "[bk_app_secret] cannot be empty", unverified, "please provide bk_app_secret"},
		"secret-a-number": {`"bk_app_code":"app","bk_app_secret":1,` + admin, "[bk_app_secret] cannot be empty", simulator.CodeInvalidArgs, "X-Bkapi-Authorization.bk_app_secret: want a string"},
		"wrong-code":      {`"bk_app_code":"other","bk_app_secret":"secret",` + admin, "Invalid APP Code", unverified, "app not found"},
		"wrong-secret":    {`"bk_app_code":"app","bk_app_secret":"guess",` + admin, "APP Secret verification failed", unverified, "bk_app_code or bk_app_secret is incorrect"},
		"no-user":         {app, "User authentication failed", simulator.CodeUserUnverified, "please provide a valid user identity"},
		"wrong-user":      {app + `,"bk_username":"eve"`, "User authentication failed", simulator.CodeUserUnverified, "bk_username is invalid"},
	} {
		t.Run("esb/"+name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewClient(t, &simulator.Server{AppCode: "app", AppSecret: "secret", Username: "admin"})
			for where, got := range map[string]simtest.Reply{
				"body":   c.Request(http.MethodPost, "/api/c/compapi/v2/gse/sync_proc_status/", "{"+strings.TrimPrefix(test.credentials+","+sync, ","), nil),
				"header": c.Request(http.MethodPost, "/api/c/compapi/v2/gse/sync_proc_status/", "{"+sync, map[string]string{"X-Bkapi-Authorization": "{" + test.credentials + "}"}),
			} {
				if wrong := test.esb != ""; (got.Code == simulator.CodeSystemError) != wrong || !wrong && got.Code != 0 || !strings.Contains(got.Message, test.esb) {
					t.Errorf("in the %s: got %d %q, want %q", where, got.Code, got.Message, test.esb)
				}
			}
		})
		t.Run("gateway/"+name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewClient(t, &simulator.Server{AppCode: "app", AppSecret: "secret", Username: "admin"})
			header := map[string]string{}
			if test.credentials != "" {
				header["X-Bkapi-Authorization"] = "{" + test.credentials + "}"
			}
			// A gateway does not read the ESB's credentials.
			got := c.Request(http.MethodPost, "/api/v2/proc/sync_proc_status", "{"+app+","+admin+`,"task_id":""}`, header)
			c.Sim.ResetViolations()
			status, code, says := http.StatusUnauthorized, test.code, test.gateway
			switch {
			case test.gateway == "": // the credentials passed, and the body was checked
				status, code, says = http.StatusBadRequest, simulator.CodeInvalidArgs, "meta: required field is missing"
			case code == simulator.CodeInvalidArgs:
				status = http.StatusBadRequest
			}
			simtest.Check(t, got.Status == status && got.Code == code && strings.Contains(got.Message, says),
				"HTTP %d %v, want %d %d with %q", got.Status, got.Body, status, code, says)
			if status == http.StatusBadRequest {
				return
			}
			_, hasResult := got.Body["result"]
			simtest.Want(t, "result and code_name", []bool{hasResult, got.Body["code_name"] != nil}, []bool{true, true})
			simtest.Want(t, "header of the code", got.Header.Get("X-Bkapi-Error-Code"), fmt.Sprint(code))
			simtest.Want(t, "header of the message", got.Header.Get("X-Bkapi-Error-Message"), got.Message)
		})
	}
}

func TestGateway_tenant(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		want, given string
		status      int
	}{
		"none":         {"", "", http.StatusOK},
		"any":          {"", "system", http.StatusOK},
		"right":        {"system", "system", http.StatusOK},
		"missing":      {"system", "", http.StatusForbidden},
		"another-one":  {"system", "other", http.StatusForbidden},
		"case-matters": {"system", "System", http.StatusForbidden},
	} {
		c := simtest.NewClient(t, &simulator.Server{TenantID: test.want})
		got := c.Request(http.MethodPost, "/api/v2/proc/sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`,
			map[string]string{"X-Bkapi-Authorization": simtest.GatewayAuth, "X-Bk-Tenant-Id": test.given})
		simtest.Check(t, got.Status == test.status && (got.Status == http.StatusForbidden) == (got.Code == simulator.CodeCrossTenant),
			"%s: HTTP %d %v", name, got.Status, got.Body)
	}
}
