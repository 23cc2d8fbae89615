package face_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

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
			if got.Status != status || got.Code != code || !strings.Contains(got.Message, says) {
				t.Errorf("HTTP %d %v, want %d %d with %q", got.Status, got.Body, status, code, says)
			}
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
		if got.Status != test.status || (got.Status == http.StatusForbidden) != (got.Code == simulator.CodeCrossTenant) {
			t.Errorf("%s: HTTP %d %v", name, got.Status, got.Body)
		}
	}
}
