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
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// Promised in your-platform.md: Exit code 2: something differs.
//
// A tape of a platform has none of its names. Played, it shows where the platform is otherwise,
// and with its profile nothing.
func TestRecordAndVerify(t *testing.T) {
	c := serve(t, &simulator.Server{RowsWithoutHost: true})
	t.Setenv("BK_GATEWAY", "apigw")
	direct := os.Getenv("BK_ENDPOINT") + "/api/bk-gse/prod"
	t.Setenv("BK_ENDPOINT", direct)
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
	t.Setenv("BK_ENDPOINT", endpoint)
	if got := command(t.Context(), t, c, "probe", "-host", "0:10.0.0.9", "-namespace", "bk_doctor", "-out", profile); got.code != exitFound {
		t.Errorf("probe through the proxy: %+v", got)
	}
	t.Setenv("BK_ENDPOINT", direct)
	end()
	for lines.Scan() {
		if strings.Contains(lines.Text(), "bk-doctor: ") || !strings.Contains(lines.Text(), "exchanges are on "+file) {
			t.Error(lines.Text())
		}
	}
	simtest.Want(t, "exit code of record", <-done, exitWell)
	http.DefaultClient.CloseIdleConnections()
	info, err := os.Stat(file)
	simtest.Must(t, err)
	simtest.Want(t, "mode", info.Mode().Perm(), 0o600)
	tape := simtest.ReadFile(t, file)
	for _, original := range []string{"10.0.0.9", "127.0.0.1", "bk_doctor", "sleep", simulator.DefaultAppCode, simulator.DefaultAppSecret} {
		if strings.Contains(tape, original) {
			t.Errorf("%q is on the tape", original)
		}
	}
	if got := command(t.Context(), t, nil, "verify", file); got.code != exitFound || !strings.Contains(got.out, "data.proc_infos[].host: absent on the platform, an object in the simulator") || !strings.Contains(got.out, "### bk-doctor verify") {
		t.Errorf("%+v", got)
	}
	if got := command(t.Context(), t, nil, "verify", "-platform", profile, file); strings.Contains(got.out, "proc_infos[].host") {
		t.Errorf("with the profile: %+v", got)
	}
	if got := command(t.Context(), t, nil, "verify", "-json", file); got.code != exitFound || !strings.Contains(got.out, `"where": "data.proc_infos[].host"`) {
		t.Errorf("%+v", got)
	}
}

// What cannot begin says why in one sentence, and writes nothing.
func TestTape_refuses(t *testing.T) { //nolint:paralleltest // it sets the environment
	serve(t, &simulator.Server{})
	cmdb := put(t, "cmdb", `{"tape":1}`+"\n"+`{"at_ms":0,"took_ms":1,"method":"POST","path":"/api/c/compapi/v2/cc/a/","status":200,"response":{}}`)
	bad, there := put(t, "bad", "{\"tape\":1}\n{\"at\":1}"), put(t, "there", "")
	fresh := filepath.Join(t.TempDir(), "fresh")
	refuses(t, nil, map[string][]string{
		"verify takes one tape":                      {"verify"},
		bad + `:2: "at" is not a member`:             {"verify", bad},
		"no such file":                               {"verify", fresh},
		"no exchange of this tape could be played":   {"verify", cmdb},
		there + ":1: the file is empty":              {"verify", there},
		"platform.json: no such file":                {"verify", "-platform", filepath.Join(t.TempDir(), "platform.json"), cmdb},
		there + " is there already; take another":    {"record", "-listen", "127.0.0.1:0", "-out", there},
		"the platform at 127.0.0.1:1 cannot be reac": {"record", "-target", "http://127.0.0.1:1", "-out", fresh},
		"-target: want a URL":                        {"record", "-target", "paas.example.com", "-out", fresh},
		"-listen: 0.0.0.0:0 is not a loopback":       {"record", "-listen", "0.0.0.0:0", "-out", fresh},
		`unexpected argument "x"`:                    {"record", "x"},
	})
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a tape was written")
	}
}
