package provider

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/canary"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
)

// A number from the environment has the same limits as one from the provider block.
func TestSettings_numberLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2": "", "5": "",
		"1": `"1" is not a whole number from 2 to 5`, "6": `"6" is not a whole number from 2 to 5`, "2.5": `"2.5" is not a whole number from 2 to 5`,
	} {
		var number int
		said := ""
		if err := newNumber(&number, 3, 2, 5).parse(text); err != nil {
			said = err.Error()
		}
		if got := fmt.Sprint(number); said != want || (got == text) != (want == "") {
			t.Errorf("%s: is %s, said %q, want %q", text, got, said, want)
		}
	}
}

// Errors of the clients' configuration use the names of the provider block.
func TestSettings_configError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"field":         {&bkapi.ConfigError{Field: "MaxRetries", Reason: "negative"}, `max_retries: Attribute max_retries: negative.`},
		"other-fields":  {&bkapi.ConfigError{Field: "Username", Reason: "one of Username, Token and AccessToken is required"}, `username: Attribute username: one of username, token and access_token is required.`},
		"part-of-other": {&bkapi.ConfigError{Field: "AccessToken", Reason: "not together with Token"}, `Attribute access_token: not together with token.`},
		"endpoint":      {&bkapi.ConfigError{Field: "Endpoint", Reason: "has a query"}, `Attribute job_endpoint: has a query.`},
		"no-setting":    {&bkapi.ConfigError{Field: "UserAgent", Reason: "has a control character"}, `UserAgent: has a control character.`},
		"another-error": {errors.New("encoding credentials"), "Encoding credentials."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newSettings().configError(test.err, "job_endpoint")
			said := got.Detail()
			if at, ok := got.(diag.DiagnosticWithPath); ok {
				said = at.Path().String() + ": " + said
			}
			if said != test.want || got.Summary() != diagnose.SummaryInvalidProvider {
				t.Errorf("said %q, want %q", said, test.want)
			}
		})
	}
}

// A line has its attributes in order, and stays one line with any values.
func TestLogger(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	ctx := tflogtest.RootLogger(t.Context(), &text)
	newLogger().With("process", "web:nginx").WarnContext(ctx, "called API", "api", "operate_proc_v2", "hosts", "0:10.0.0.1, 0:10.0.0.2", "reason", "one\ntwo")
	lines, err := tflogtest.MultilineJSONDecode(&text)
	if err != nil || len(lines) != 1 {
		t.Fatal(lines, err)
	}
	want := `called API: process=web:nginx api=operate_proc_v2 hosts="0:10.0.0.1, 0:10.0.0.2" reason=one\ntwo`
	if lines[0]["@message"] != want || lines[0]["@level"] != strings.ToLower(slog.LevelWarn.String()) {
		t.Errorf("it logs %v, want %s", lines[0], want)
	}
}

// envPanic makes this test's process panic with the named value.
const envPanic = "BK_TEST_PANIC"

// A panic that prints the provider's own values contains no credential.
func TestSecrets_areNotInPanics(t *testing.T) {
	t.Parallel()
	settings := newSettings()
	settings.API.Endpoint, settings.API.AppCode = "https://"+canary.Witness+".example.com", "app"
	settings.API.AppSecret, settings.API.Token = canary.Secret, canary.Token
	settings.API.Gateway = bkapi.ESB
	var diags diag.Diagnostics
	platform := (&bkProvider{}).connect(settings, &diags)
	if platform == nil {
		t.Fatal(diags)
	}
	config := bkapi.Config{Endpoint: "https://" + canary.Witness + ".example.com", AppSecret: canary.Secret, Token: canary.Token, AccessToken: canary.AccessToken}
	values := map[string]any{
		"settings": *settings, "settings-pointer": settings, "config": config, "config-pointer": &config, "config-in-a-struct": struct{ C bkapi.Config }{config},
		"platform": platform, "gse-client": platform.GSE, "job-client": platform.Job,
		// The control contains one.
		"control": struct{ Secret string }{canary.Secret},
	}
	if name := os.Getenv(envPanic); name != "" {
		panic(fmt.Sprintf("%v\n%+v\n%#v\n%s\n%q\n%x", values[name], values[name], values[name], values[name], values[name], values[name]))
	}
	for name := range values {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecrets_areNotInPanics$")
		cmd.Env = append(os.Environ(), envPanic+"="+name, "GOTRACEBACK=system")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(string(out), "goroutine ") {
			t.Fatalf("%s: no panic: %v\n%s", name, err, out)
		}
		found := canary.In(string(out))
		if control := name == "control"; control != (len(found) > 0) {
			t.Errorf("%s: found %v in:\n%s", name, found, out)
		}
		if strings.HasPrefix(name, "settings") || strings.HasPrefix(name, "config") {
			if !strings.Contains(string(out), canary.Witness) {
				t.Errorf("%s: nothing of use in:\n%s", name, out)
			}
		}
	}
}
