package pagetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// browsers are the names under which Chromium is installed; BK_TEST_BROWSER names another.
var browsers = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"}

func browser(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the browser is controlled through inherited pipes, which Windows does not have")
	}
	if named := os.Getenv("BK_TEST_BROWSER"); named != "" {
		return named
	}
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	t.Skipf("no browser is installed to test the page: install one of %s, or set BK_TEST_BROWSER", strings.Join(browsers, ", "))
	return ""
}

// tab is one tab of a headless browser, controlled by the DevTools protocol over two pipes.
type tab struct {
	t       *testing.T
	to      *os.File
	session string

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	console []string
}

type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

type reply struct {
	result json.RawMessage
	err    string
}

// newTab starts a browser that ends with the test. An error of the page, or a violation of its policy, fails the test.
func newTab(t *testing.T) *tab {
	t.Helper()
	theirs, to, err := os.Pipe()
	simtest.Must(t, err)
	from, ours, err := os.Pipe()
	simtest.Must(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), browser(t),
		"--remote-debugging-pipe", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-first-run", "--disable-background-networking", "--user-data-dir="+t.TempDir(), "about:blank",
	)
	cmd.ExtraFiles = []*os.File{theirs, ours}
	simtest.Must(t, cmd.Start())
	_, _ = theirs.Close(), ours.Close()
	b := &tab{t: t, to: to, waiting: make(map[int]chan reply)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.read(from)
	}()
	t.Cleanup(func() {
		b.call("Browser.close", nil)
		_ = cmd.Wait()
		<-done
		_, _ = to.Close(), from.Close()
		for _, line := range b.console {
			t.Errorf("the page reports: %s", line)
		}
	})
	var target struct{ TargetID string }
	b.into(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.into(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Accessibility"} {
		b.call(domain+".enable", nil)
	}
	b.size(1440, 900)
	return b
}

func (b *tab) read(from *os.File) {
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for id, c := range b.waiting {
			delete(b.waiting, id)
			c <- reply{err: "the browser has ended"}
		}
		b.waiting = nil
	}()
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0 && b.waiting[m.ID] != nil:
			r := reply{result: m.Result}
			if m.Error != nil {
				r.err = m.Error.Message
			}
			b.waiting[m.ID] <- r
			delete(b.waiting, m.ID)
		case m.Method == "Runtime.exceptionThrown":
			b.console = append(b.console, string(m.Params))
		case m.Method == "Log.entryAdded" && bytes.Contains(m.Params, []byte(`"level":"error"`)) && !bytes.Contains(m.Params, []byte(`"source":"network"`)):
			b.console = append(b.console, string(m.Params))
		}
		b.mu.Unlock()
	}
}

func (b *tab) call(method string, params any) json.RawMessage {
	b.t.Helper()
	encoded, err := json.Marshal(params)
	simtest.Must(b.t, err)
	answer := make(chan reply, 1)
	b.mu.Lock()
	if b.waiting == nil {
		b.mu.Unlock()
		return nil
	}
	b.last++
	b.waiting[b.last] = answer
	text, err := json.Marshal(message{ID: b.last, Method: method, Params: encoded, SessionID: b.session})
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	b.mu.Unlock()
	simtest.Must(b.t, err)
	select {
	case r := <-answer:
		if r.err != "" && method != "Browser.close" {
			b.t.Fatalf("%s: %s", method, r.err)
		}
		return r.result
	case <-time.After(time.Minute):
		b.t.Fatalf("%s: the browser does not answer", method)
	}
	return nil
}

func (b *tab) into(v any, method string, params any) {
	b.t.Helper()
	simtest.Must(b.t, json.Unmarshal(b.call(method, params), v))
}

func (b *tab) open(url string) { b.t.Helper(); b.call("Page.navigate", map[string]any{"url": url}) }

func (b *tab) size(width, height int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false})
}

func (b *tab) media(name, value string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": name, "value": value}}})
}

func (b *tab) eval(expression string) string {
	b.t.Helper()
	var out struct {
		Result struct {
			Value       json.RawMessage
			Description string
		}
		ExceptionDetails json.RawMessage
	}
	b.into(&out, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if out.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, out.ExceptionDetails)
	}
	var text string
	if json.Unmarshal(out.Result.Value, &text) == nil {
		return text
	}
	return string(out.Result.Value)
}

func (b *tab) sees(expression, want string) {
	b.t.Helper()
	got := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); b.eval("new Promise(done => setTimeout(done, 50))") {
		if got = b.eval("(() => { try { return String(" + expression + "); } catch (error) { return String(error); } })()"); got == want {
			return
		}
	}
	b.shoot("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
	b.t.Fatalf("%s is %q, want %q", expression, got, want)
}

// press presses a key with modifiers (2: Ctrl, 8: Shift).
func (b *tab) press(key string, modifiers int) {
	b.t.Helper()
	event := map[string]any{"type": "keyDown", "key": key, "modifiers": modifiers}
	switch {
	case key == "Escape": // by which a browser closes a dialog
		event["windowsVirtualKeyCode"] = 27
	case len(key) == 1 && modifiers == 0:
		event["text"] = key
	}
	b.call("Input.dispatchKeyEvent", event)
	event["type"] = "keyUp"
	delete(event, "text")
	b.call("Input.dispatchKeyEvent", event)
}

// drag presses the mouse on one element and releases it on another. If both are the same, it is a click.
func (b *tab) drag(from, to string) {
	b.t.Helper()
	mouse := func(kind, selector string, buttons int) {
		var at struct{ X, Y float64 }
		place := b.eval(fmt.Sprintf(`(el => { el.scrollIntoView({block: "nearest"}); const r = el.getBoundingClientRect(); return JSON.stringify({x: r.x + r.width / 2, y: r.y + r.height / 2}); })(%s)`, selector))
		simtest.Must(b.t, json.Unmarshal([]byte(place), &at))
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "buttons": buttons, "clickCount": 1})
	}
	mouse("mousePressed", from, 1)
	if from != to {
		mouse("mouseMoved", to, 1)
	}
	mouse("mouseReleased", to, 0)
}

func (b *tab) click(selector string) { b.t.Helper(); b.drag(selector, selector) }

// shoot writes a screenshot to the directory BK_TEST_SCREENSHOTS, if that is set.
func (b *tab) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("BK_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.into(&shot, "Page.captureScreenshot", map[string]any{"format": "png"})
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	simtest.Must(b.t, err)
}
