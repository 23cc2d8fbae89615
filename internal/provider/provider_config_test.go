package provider_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Each way in which a call can fail gives one diagnostic. It has what happened, the URL, the request id,
// and what to do, but no secret.
//
// Promised in reference: only a call that fails as a whole is an error.
func TestProvider_callFails(t *testing.T) {
	t.Parallel()
	code := 1306000
	for name, c := range map[string]struct {
		fault simulator.Fault
		want  string
	}{
		"result-false":  {simulator.Fault{EnvelopeCode: &code, EnvelopeMessage: "System error"}, `refused by the platform: System error \(code 1306000, request id \w+\)\.[\s\S]*URL: http://127[\s\S]*quote the request id`},
		"html-page":     {simulator.Fault{HTTPStatus: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html><title>Login</title></html>"}, `is not the platform: HTTP 200 OK[\s\S]*text/html[\s\S]*a login page or a proxy is in between`},
		"forbidden":     {simulator.Fault{HTTPStatus: 403, Body: `{"code": 1640301, "message": "app has no permission"}`}, `HTTP 403 Forbidden from http://127[\s\S]*app has no permission[\s\S]*does not let it call get_proc_status_v2`},
		"not-found":     {simulator.Fault{HTTPStatus: 404, Body: `404`}, `is not the platform: HTTP 404 Not Found[\s\S]*and gateway, which is (esb|apigw) now`},
		"too-large":     {simulator.Fault{HTTPStatus: 413}, `Lower max_hosts_per_request`},
		"rate-limited":  {simulator.Fault{HTTPStatus: 429}, `HTTP 429[\s\S]*Set requests_per_second`},
		"bad-gateway":   {simulator.Fault{HTTPStatus: 502, Body: "<html>" + longPage + "</html>"}, `HTTP 502 Bad Gateway[\s\S]*5 tries`},
		"lost":          {simulator.Fault{Drop: "after"}, `no usable answer from[\s\S]*5 tries`},
		"redirect":      {simulator.Fault{HTTPStatus: 302, Header: map[string]string{"Location": "http://127.0.0.1:1/login"}}, `redirect to http://127.0.0.1:1 not followed`},
		"broken-answer": {simulator.Fault{Drop: "mid"}, `no usable answer from`},
		"wrong-secret":  {simulator.Fault{}, `(refused by the platform|HTTP 401 Unauthorized)[\s\S]*[Cc]heck app_code and app_secret`},
	} {
		for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				settings, status := sim.SettingsFor(by), by.Reference("./start.sh", 1)
				settings["max_retries"] = nil
				if name == "wrong-secret" {
					settings["app_secret"] = "wrong"
					t.Cleanup(sim.ResetViolations) // the violation was intended
				} else {
					sim.Inject(c.fault)
				}
				status["mode"], status["spec"] = "cached", nil
				_, said := providertest.ConfiguredWith(t, settings).ReadData(by.TypeName(providertest.OnStatus), status)
				if len(said) != 1 || !said.Failed() || !regexp.MustCompile(`^ERROR: Unable to Read Process Status[\s\S]*`+c.want).MatchString(said.String()) {
					t.Errorf("said: %s", said)
				}
			})
		}
	}
}

// Settings that another resource computes do not fail the plan.
func TestAccProvider_unknownSettings(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, "")
	cli.ConfigureWith(fmt.Sprintf("resource \"terraform_data\" \"secret\" {\n  input = %q\n}\n", simulator.DefaultAppSecret)+
		providertest.ProviderBlock("app_secret = terraform_data.secret.output"), providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String())
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")
	if n := len(sim.Processes()); n != 2 {
		t.Errorf("%d processes are registered", n)
	}
}
