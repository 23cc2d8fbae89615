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
)

// envPanic makes this test's process panic with what it names.
const envPanic = "BK_TEST_PANIC"

// What a panic prints of the provider's own values holds no credential.
func TestSecrets_areNotInPanics(t *testing.T) {
	t.Parallel()
	settings := newSettings()
	settings.API.Endpoint, settings.API.AppCode = "https://"+witness+".example.com", "app"
	settings.API.AppSecret, settings.API.Token = canarySecret, canaryToken
	var diags diag.Diagnostics
	platform := (&bkProvider{}).connect(settings, &diags)
	if platform == nil {
		t.Fatal(diags)
	}
	config := bkapi.Config{Endpoint: "https://" + witness + ".example.com", AppSecret: canarySecret, Token: canaryToken, AccessToken: canaryAccessToken}
	values := map[string]any{
		"settings": *settings, "settings-pointer": settings, "config": config, "config-pointer": &config, "config-in-a-struct": struct{ C bkapi.Config }{config},
		"platform": platform, "gse-client": platform.gse, "job-client": platform.job,
		// The control is known to hold one.
		"control": struct{ Secret string }{canarySecret},
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
		found := canariesIn(string(out))
		if control := name == "control"; control != (len(found) > 0) {
			t.Errorf("%s: found %v in:\n%s", name, found, out)
		}
		if strings.HasPrefix(name, "settings") || strings.HasPrefix(name, "config") {
			if !strings.Contains(string(out), witness) {
				t.Errorf("%s: nothing of use in:\n%s", name, out)
			}
		}
	}
}
