package bkapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// journal keeps what is logged, at every level.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: bkapi.LevelTrace}))
}

// lines returns the log without its times.
func (j *journal) lines(t *testing.T) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(j.String()) {
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("reading the log: %v", err)
		}
		lines = append(lines, fields)
	}
	return lines
}

type warningHandler struct {
	slog.Handler
	call func()
}

func (h warningHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

func (h warningHandler) Handle(context.Context, slog.Record) error {
	h.call()
	return nil
}

func onWarning(call func()) *slog.Logger {
	return slog.New(warningHandler{slog.DiscardHandler, call})
}

func TestClient_logging(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply(http.StatusBadGateway, ""), reply(http.StatusOK, `{"result":true,"code":0,"data":{},"request_id":"platform-1"}`))
	j := &journal{}
	cfg := testConfig(s.URL)
	cfg.Logger = j.logger()
	in := map[string]string{"start_cmd": "./run --secret " + cfg.AppSecret}
	_, err := newClient(t, cfg).Call(t.Context(), query, in, nil)
	procapitest.NoError(t, err)
	ours := s.received()[0].header.Get("X-Bkapi-Request-Id")
	url := s.URL + "/" + query.Path
	want := []map[string]any{
		{"level": "DEBUG-4", "msg": "calling API", "api": query.Name, "url": url, "request_id": ours, "body": `{"start_cmd":"./run --secret ***"}`},
		{"level": "DEBUG", "msg": "called API", "api": query.Name, "request_id": ours, "status": 502.0, "code": 0.0, "kind": "status"},
		{"level": "WARN", "msg": "repeating API call", "api": query.Name, "request_id": ours, "attempt": 1.0, "reason": "HTTP 502 Bad Gateway from " + url},
		{"level": "DEBUG", "msg": "called API", "api": query.Name, "request_id": "platform-1", "attempt": 2.0, "code": 0.0},
	}
	ignored := cmpopts.IgnoreMapEntries(func(key string, _ any) bool {
		return key == "time" || key == "ms" || key == "wait_ms"
	})
	procapitest.WantEqual(t, "log", want, j.lines(t), ignored)
}

// accepted is an answer that chooses what is logged of it.
type accepted struct {
	TaskID string `json:"task_id"`
}

func (a *accepted) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task_id", a.TaskID))
}

// A call's line has the caller's fields, and never a secret.
func TestClient_logFields(t *testing.T) {
	t.Parallel()
	cfg := testConfig("")
	s := newServer(t, reply(http.StatusOK, `{"result":true,"code":0,"data":{"task_id":"T1 `+cfg.AppSecret+`"}}`))
	j := &journal{}
	cfg = testConfig(s.URL)
	cfg.Logger = j.logger()
	ctx := bkapi.WithLogFields(t.Context(), slog.String("hosts", "0:10.0.0.1"))
	one, other := bkapi.WithLogFields(ctx, slog.Int("n", 1)), bkapi.WithLogFields(ctx, slog.Int("n", 2))
	for _, ctx := range []context.Context{one, other} {
		_, err := newClient(t, cfg).Call(ctx, query, nil, &accepted{})
		procapitest.NoError(t, err)
	}
	n := 0
	for _, line := range j.lines(t) {
		if line["msg"] != "called API" {
			continue
		}
		n++
		procapitest.Check(t, line["hosts"] == "0:10.0.0.1" && line["n"] == float64(n) && line["task_id"] == "T1 ***", "line %d: %v", n, line)
	}
	procapitest.WantEqual(t, "calls that were logged", 2, n)
}

// canary has each kind of character that an encoding changes.
const canary = `canary"<&>+/'\é%tail`

// marker is not secret and is echoed right after the secret. It shows that the echo reached the output,
// where the secret would have been too.
const marker = "MARK"

// echoes are the places where a server may repeat a secret. TestRedactor tests its spellings.
func echoes(secret string) map[string]http.HandlerFunc {
	inJSON, _ := json.Marshal(secret + marker)
	nested, _ := json.Marshal(string(inJSON))
	answer := func(status int, form string, text []byte) http.HandlerFunc {
		return reply(status, fmt.Sprintf(form, text))
	}
	return map[string]http.HandlerFunc{
		"html-page":       replyAs("text/html", http.StatusOK, html.EscapeString(secret+marker)),
		"error-page":      replyAs("text/plain", http.StatusBadRequest, secret+marker),
		"not-json":        reply(http.StatusOK, secret+marker),
		"message":         answer(http.StatusOK, `{"result":false,"code":5,"message":%s}`, inJSON),
		"message-object":  answer(http.StatusOK, `{"code":5,"message":{"sent":%s}}`, inJSON),
		"message-nested":  answer(http.StatusOK, `{"code":5,"message":{"sent":%s}}`, nested),
		"status-message":  answer(http.StatusForbidden, `{"code":5,"message":%s}`, inJSON),
		"retried-message": answer(http.StatusBadGateway, `{"code":5,"message":%s}`, inJSON),
		"word-as-code":    answer(http.StatusOK, `{"code":%s}`, inJSON),
		"request-id":      answer(http.StatusOK, `{"code":5,"request_id":%s}`, inJSON),
		"base64":          reply(http.StatusBadRequest, base64.StdEncoding.EncodeToString([]byte(secret))+marker),
		"cut-short":       answer(http.StatusOK, `{"code":5,"message":%q}`, []byte(marker+` {"bk_app_secret": "`+secret[:12])),
		"cut-in-python":   answer(http.StatusOK, `{"code":5,"message":%q}`, []byte(marker+` {'access_token': '`+secret[:12])),
		"cut-within-json": answer(http.StatusOK, `{"code":5,"message":{"m":%q}}`, []byte(marker+` {"bk_token":"`+secret[:12])),
		"query-escaped":   reply(http.StatusOK, "a="+url.QueryEscape(secret)+marker),
		"across-the-cut":  reply(http.StatusOK, marker+strings.Repeat("x", 105)+secret),
		"content-type":    replyAs(secret+marker, http.StatusOK, "text"),
		"broken-http":     raw(secret + marker + "\r\n\r\n"),
		"redirect":        redirectTo("http://"+marker+".example.com/?t="+url.QueryEscape(secret), http.StatusFound),
	}
}

// canaryIn returns the pieces of the canary in a text, plain and encoded.
func canaryIn(text string) []string {
	var found []string
	for _, piece := range []string{canary[:6], canary[len(canary)-4:]} {
		traces := []string{piece, hex.EncodeToString([]byte(piece)), fmt.Sprintf("%X", piece)}
		for before := range 3 {
			// Without the characters that also depend on what is beside the piece.
			encoded := base64.RawStdEncoding.EncodeToString([]byte("xxx"[:before] + piece))
			traces = append(traces, encoded[[]int{0, 2, 3}[before]:(before+len(piece))*8/6])
		}
		for _, trace := range traces {
			if strings.Contains(text, trace) {
				found = append(found, trace)
			}
		}
	}
	return found
}

func TestClient_keepsSecrets(t *testing.T) {
	t.Parallel()
	for user, set := range map[string]func(*bkapi.Config){
		"app-secret":   func(cfg *bkapi.Config) { cfg.AppSecret = canary },
		"token":        func(cfg *bkapi.Config) { cfg.Username, cfg.Token = "", canary },
		"access-token": func(cfg *bkapi.Config) { cfg.Username, cfg.AccessToken = "", canary },
		"control":      nil, // the control: a secret that the client does not know is found
	} {
		for echo, handler := range echoes(canary) {
			// Never quoted: the query of a target, and what follows a secret's name.
			if set == nil && (echo == "redirect" || strings.HasPrefix(echo, "cut-")) {
				continue
			}
			t.Run(user+"/"+echo, func(t *testing.T) {
				t.Parallel()
				text := everythingSaid(t, handler, set)
				if !strings.Contains(strings.ToLower(text), strings.ToLower(marker)) {
					t.Fatalf("the echo has not come through, so this proves nothing: %s", text)
				}
				found := canaryIn(text)
				procapitest.Check(t, (len(found) > 0) == (set == nil), "found %q in: %s", found, text)
			})
		}
	}
}

// everythingSaid returns all log lines and the error of a call, with the errors that it wraps.
func everythingSaid(t *testing.T, handler http.HandlerFunc, set func(*bkapi.Config)) string {
	t.Helper()
	j := &journal{}
	cfg := testConfig(newServer(t, handler).URL)
	cfg.Logger = j.logger()
	if set != nil {
		set(&cfg)
	}
	_, err := newClient(t, cfg).Call(t.Context(), query, map[string]string{"cmd": cfg.AppSecret}, nil)
	if err == nil {
		t.Fatal("no error to look at")
	}
	var text strings.Builder
	for err := err; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintf(&text, "%v\n%+v\n%#v\n", err, err, err)
	}

	// The log's text, not its JSON.
	for _, line := range j.lines(t) {
		fmt.Fprintln(&text, line)
	}
	return text.String()
}

// printed is a value in every way in which a log, a panic or a test may show it.
func printed(t *testing.T, value any) string {
	t.Helper()
	var text bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%20v"} {
		fmt.Fprintf(&text, verb+"\n", value)
		fmt.Fprintf(&text, verb+"\n", struct{ Field any }{value})
	}
	encoded, err := json.Marshal(map[string]any{"value": value})
	procapitest.NoError(t, err)
	text.Write(encoded)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&text, nil)} {
		slog.New(handler).InfoContext(t.Context(), "value", "value", value)
	}
	return text.String()
}

func TestConfig_printsNoSecret(t *testing.T) {
	t.Parallel()
	cfg := testConfig("https://paas.example.com")
	cfg.AppSecret, cfg.Token, cfg.AccessToken = canary+"1", canary+"2", canary+"3"
	text := printed(t, cfg) + printed(t, &cfg)
	if found := canaryIn(text); len(found) > 0 {
		t.Errorf("found %q in: %s", found, text)
	}
	procapitest.Check(t, strings.Contains(text, "https://paas.example.com"), "nothing of use in: %s", text)

	// The control: the same fields without the methods.
	type bare bkapi.Config
	if found := canaryIn(printed(t, bare(cfg))); len(found) < 3 {
		t.Errorf("found only %q of a configuration that hides nothing", found)
	}
	client := newClient(t, func() bkapi.Config { cfg.Token, cfg.AccessToken, cfg.Username = "", "", "admin"; return cfg }())
	text = printed(t, client)
	if found := canaryIn(text); len(found) > 0 || strings.Contains(text, "99 97 110 97 114 121") {
		t.Errorf("found %q in: %s", found, text)
	}
}
