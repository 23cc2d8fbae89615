package pagetest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"testing"
	"time"
)

var link = regexp.MustCompile(`(?m)^Its page: +(http://\S+)$`)

// The open page shows the demo. Three hosts come up, one is killed and restarted, one is unregistered by
// another user and repaired, and all are destroyed.
func TestAccPage_demo(t *testing.T) {
	t.Parallel()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("Acceptance tests skipped unless env 'TF_ACC' set")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the demo needs 127.0.0.2 and 127.0.0.3")
	}
	b := newTab(t)
	dir := t.TempDir()
	demo := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "../../examples/demo/run.sh")
	demo.Env = append(os.Environ(), "TMPDIR="+dir, "CLI="+os.Getenv("TF_ACC_TERRAFORM_PATH"))
	var out bytes.Buffer
	demo.Stdout, demo.Stderr = &out, &out
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var failed error
	go func() {
		defer close(ended)
		failed = demo.Wait()
	}()
	t.Cleanup(func() {
		_ = demo.Process.Signal(syscall.SIGTERM)
		<-ended
	})

	// It builds the provider and the simulator first, which takes as long as it takes.
	url := ""
	for url == "" {
		select {
		case <-ended:
			t.Fatalf("the demo: %v\n%s", failed, out.String())
		case <-time.After(100 * time.Millisecond):
		}
		files, _ := filepath.Glob(filepath.Join(dir, "bk-demo.*", "greeting"))
		for _, file := range files {
			greeting, _ := os.ReadFile(file)
			if found := link.FindSubmatch(greeting); found != nil {
				url = string(found[1])
			}
		}
	}
	b.size(1280, 640)
	b.open(url)
	b.sees(`document.querySelector("#nothing h3").textContent`, "Nothing is registered here yet")
	b.sees(shown("running"), "3")
	const pid = `[...document.querySelectorAll("#fleet .card")].find(c => c.textContent.startsWith("0:127.0.0.2")).textContent.match(/pid (\d+)/)[1]`
	b.sees("(window.before = "+pid+") > 0", "true")
	b.sees(pid+" !== window.before", "true")
	b.sees(counted("unhosted"), "1")
	b.sees(`document.querySelector("#fleet [role=option] .unhosted").parentElement.ariaLabel.startsWith("0:127.0.0.3: running, but not hosted")`, "true")
	b.shoot("simulator-demo")
	b.sees(shown("running"), "3")
	b.sees(connection, "the simulator does not answer")
	if <-ended; failed != nil {
		t.Errorf("the demo: %v\n%s", failed, out.String())
	}
}
