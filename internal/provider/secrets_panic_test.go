package provider

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/canary"
)

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
