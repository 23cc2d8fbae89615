package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Promised in your-platform.md: Exit code 2: something differs.
//
// A tape of a platform has none of its names. Played, it shows where the platform is otherwise,
// and with its profile nothing.
func TestRecordAndVerify(t *testing.T) {
	c := serve(t, &simulator.Server{RowsWithoutHost: true})
	t.Setenv("BK_GATEWAY", "apigw")
	t.Setenv("BK_ENDPOINT", os.Getenv("BK_ENDPOINT")+"/api/bk-gse/prod")
	dir := t.TempDir()
	file, profile := filepath.Join(dir, "tape.jsonl"), filepath.Join(dir, "platform.json")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	printed, w := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"record", "-listen", "127.0.0.1:0", "-out", file}, w, w, nil)
		_ = w.Close()
	}()
	lines := bufio.NewScanner(printed)
	endpoint := ""
	for endpoint == "" && lines.Scan() {
		_, endpoint, _ = strings.Cut(lines.Text(), "export BK_ENDPOINT=")
	}
	direct := os.Getenv("BK_ENDPOINT")
	t.Setenv("BK_ENDPOINT", endpoint)
	if code, out, said := command(t, c, "probe", "-host", "0:10.0.0.9", "-namespace", "bk_doctor", "-out", profile); code != exitFound {
		t.Errorf("probe through the proxy: exit code %d: %s%s", code, out, said)
	}
	t.Setenv("BK_ENDPOINT", direct)
	end()
	for lines.Scan() {
		if strings.Contains(lines.Text(), "bk-doctor: ") || !strings.Contains(lines.Text(), "exchanges are on "+file) {
			t.Error(lines.Text())
		}
	}
	if code := <-done; code != exitWell {
		t.Errorf("record: exit code %d", code)
	}
	http.DefaultClient.CloseIdleConnections()

	tape, err := os.ReadFile(file)
	if info, _ := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, original := range []string{"10.0.0.9", "127.0.0.1", "bk_doctor", "sleep", simulator.DefaultAppCode, simulator.DefaultAppSecret} {
		if strings.Contains(string(tape), original) {
			t.Errorf("%q is on the tape", original)
		}
	}
	code, out, _ := command(t, nil, "verify", file)
	if code != exitFound || !strings.Contains(out, "data.proc_infos[].host: absent on the platform, an object in the simulator") || !strings.Contains(out, "### bk-doctor verify") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if _, out, _ := command(t, nil, "verify", "-platform", profile, file); strings.Contains(out, "proc_infos[].host") {
		t.Errorf("with the profile: %s", out)
	}
	if code, out, _ := command(t, nil, "verify", "-json", file); code != exitFound || !strings.Contains(out, `"where": "data.proc_infos[].host"`) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// What cannot begin says why in one sentence, and writes nothing.
func TestTape_refuses(t *testing.T) { //nolint:paralleltest // it sets the environment
	serve(t, &simulator.Server{})
	dir := t.TempDir()
	put := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	cmdb := put("cmdb", `{"tape":1}`+"\n"+`{"at_ms":0,"took_ms":1,"method":"POST","path":"/api/c/compapi/v2/cc/a/","status":200,"response":{}}`)
	bad, there := put("bad", "{\"tape\":1}\n{\"at\":1}"), put("there", "")
	fresh := filepath.Join(dir, "fresh")
	for says, args := range map[string][]string{
		"verify takes one tape":                      {"verify"},
		bad + `:2: "at" is not a member`:             {"verify", bad},
		"no such file":                               {"verify", fresh},
		"no exchange of this tape could be played":   {"verify", cmdb},
		there + ":1: the file is empty":              {"verify", there},
		"platform.json: no such file":                {"verify", "-platform", filepath.Join(dir, "platform.json"), cmdb},
		there + " is there already; take another":    {"record", "-listen", "127.0.0.1:0", "-out", there},
		"the platform at 127.0.0.1:1 cannot be reac": {"record", "-target", "http://127.0.0.1:1", "-out", fresh},
		"-target: want a URL":                        {"record", "-target", "paas.example.com", "-out", fresh},
		"-listen: 0.0.0.0:0 is not a loopback":       {"record", "-listen", "0.0.0.0:0", "-out", fresh},
		`unexpected argument "x"`:                    {"record", "x"},
	} {
		code, out, said := command(t, nil, args...)
		if _, err := os.Stat(fresh); code != exitError || !strings.Contains(said, says) || err == nil {
			t.Errorf("%v: exit code %d, want %q: %s%s", args, code, says, out, said)
		}
	}
}
