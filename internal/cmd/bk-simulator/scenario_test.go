package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a scenario declares is what the simulator starts with, and only that.
func TestRun_scenario(t *testing.T) {
	t.Parallel()
	scenario := func(text string) string {
		file := filepath.Join(t.TempDir(), "scenario.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const steps = `,"steps":[{"say":"away","fault":{"unreachable":"117"}}]}`
	var log buffer
	url, _ := start(t, &log, "-quiet", "-app-code", "app", "-app-secret", "shh", "-scenario", scenario(`{"title":"t","simulator":{"hosts":"0:10.0.0.1"}`+steps))
	if answer := send(t, http.MethodPost, url+"/api/c/compapi/v2/gse/register_proc_info/", registration); !strings.Contains(answer, `"error_code":117`) {
		t.Errorf("answer: %s", answer)
	}
	if want := "scenario: 1 of 1: away\n"; log.String() != want {
		t.Errorf("log: %s", log.String())
	}
	for name, test := range map[string]struct{ text, want string }{
		"mistake":   {"{\n\"titel\":\"t\"}", `scenario.json:2: "titel" is not known here; did you mean "title"?`},
		"not-its":   {`{"title":"t","simulator":{"root":"/"}` + steps, `simulator: a scenario cannot set "root", only admit, hosts, row-label, with`},
		"bad-value": {`{"title":"t","simulator":{"admit":"10"}` + steps, `simulator: admit: `},
		"no-hosts":  {`{"title":"t"` + steps, "no host is declared"},
	} {
		var stderr buffer
		if err := run(t.Context(), []string{"-scenario", scenario(test.text)}, io.Discard, &stderr); err == nil || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: %v: %s", name, err, stderr.String())
		}
	}
}
