package bkapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

func TestClient_retryTable(t *testing.T) {
	t.Parallel()
	for _, row := range retryTable() {
		t.Run(strings.ReplaceAll(row.what, " ", "-"), func(t *testing.T) {
			t.Parallel()
			for _, step := range row.steps {
				checkRetryRow(t, row, step, query, row.repeatable)
				checkRetryRow(t, row, step, operate, row.otherwise)
			}
		})
	}
}

// tried is the expected outcome of a call in a row of the table.
type tried struct {
	Attempts, Requests                        int
	Kind                                      bkapi.Kind
	Stranger, Sent, Unknown, Acted, Transient bool
}

func checkRetryRow(t *testing.T, row retryRow, step http.HandlerFunc, api bkapi.API, word string) {
	t.Helper()
	steps := []http.HandlerFunc{ok(`{}`), step}
	if !api.Repeatable { // a refusal is an answer of the platform too
		steps[0] = reply(http.StatusForbidden, `{"code":1640301,"message":"no permission"}`)
	}
	if row.cold {
		steps = steps[1:]
	}
	s := newServer(t, steps...)
	cfg := testConfig(s.URL)
	if row.prepare != nil {
		row.prepare(t, &cfg, s)
	}
	client := newClient(t, cfg)
	if !row.cold {
		if _, err := client.Call(t.Context(), query, nil, nil); (err == nil) != api.Repeatable {
			t.Fatalf("before: %v", err)
		}
	}
	client.Close()
	if row.leaves != nil {
		row.leaves(s)
	}
	before := len(s.received())
	_, err := client.Call(t.Context(), api, nil, &struct{ TaskID string }{})
	failure := failureOf(t, err)
	tries := map[string]int{"no": 1, "once": 2, "yes": 3}[word]
	want := tried{
		Attempts: tries, Requests: tries, Kind: row.kind, Stranger: row.cold && row.kind != bkapi.KindTLS, Sent: !row.unsent,
		Unknown: row.unknown && !api.Repeatable, Acted: row.unknown, Transient: word != "no",
	}
	got := tried{
		failure.Attempts, len(s.received()) - before, failure.Kind, failure.Stranger, failure.Sent,
		bkapi.IsOutcomeUnknown(err), bkapi.MayHaveActed(err), bkapi.IsTransient(err),
	}
	if row.unsent {
		want.Requests = 0
	}
	if row.kind == "" {
		want.Kind = got.Kind
	}
	procapitest.WantEqual(t, fmt.Sprintf("%s: %v", api.Name, err), want, got)
	procapitest.Check(t, !errors.Is(err, context.DeadlineExceeded), "%s: taken for the end of the operation: %v", api.Name, err)
}

func TestClient_retryStopsWhenContextEnds(t *testing.T) {
	t.Parallel()
	for _, api := range []bkapi.API{query, operate} {
		ctx, cancel := context.WithCancel(t.Context())
		s := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		})
		_, err := newClient(t, testConfig(s.URL)).Call(ctx, api, nil, nil)
		if failure := failureOf(t, err); failure.Kind != bkapi.KindCanceled || !failure.Sent || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want a KindCanceled that was sent", api.Name, err)
		}
		if got := len(s.received()); got != 1 || bkapi.IsTransient(err) || bkapi.IsOutcomeUnknown(err) == api.Repeatable {
			t.Errorf("%s: %d requests, IsTransient %t, IsOutcomeUnknown %t", api.Name, got, bkapi.IsTransient(err), bkapi.IsOutcomeUnknown(err))
		}
	}
}

func TestClient_retryKeepsErrorWhenDeadlineIsBeforeTheWait(t *testing.T) {
	t.Parallel()
	for _, api := range []bkapi.API{query, operate} {
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := newClient(t, testConfig(s.URL)).Call(ctx, api, nil, nil)
		if failure := failureOf(t, err); failure.Status != http.StatusTooManyRequests || failure.Attempts != 1 || ctx.Err() != nil {
			t.Errorf("%s: got %v, want the 429 after one try, and at once", api.Name, err)
		}
		if want := "it asks for a wait of 10m0s"; !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q, which is why there is no other try", api.Name, err, want)
		}
	}
}

func TestClient_retryEndsWithSuccess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		api    bkapi.API
		first  http.HandlerFunc
		resent bool
	}{
		"after-lost-answer":           {query, reset, true},
		"after-bad-gateway":           {query, reply(http.StatusBadGateway, ""), true},
		"after-format":                {query, reply(http.StatusOK, `{"result":tr`), true},
		"query-after-page-of-429":     {query, replyAs("text/html", http.StatusTooManyRequests, "<html>429</html>"), false},
		"operation-after-429":         {operate, reply(http.StatusTooManyRequests, ""), false},
		"operation-after-rate-limit":  {operate, ok(`null,"code":1306429,"result":false`), false},
		"query-after-rate-limit":      {query, ok(`null,"code":1306429,"result":false`), false},
		"query-after-backend-timeout": {query, ok(`null,"code":1306201,"result":false`), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.first, ok(`{"task_id":"T1"}`))
			var out map[string]string
			got, err := newClient(t, testConfig(s.URL)).Call(t.Context(), test.api, nil, &out)
			if err != nil || out["task_id"] != "T1" || got.Attempts != 2 || got.Resent != test.resent {
				t.Fatalf("got %v, %+v and %v, want 2 tries and Resent %t", out, got, err, test.resent)
			}
			first, second := s.received()[0], s.received()[1]
			procapitest.WantEqual(t, "the second try sent another body", string(first.body), string(second.body))
			if a, b := first.header.Get("X-Bkapi-Request-Id"), second.header.Get("X-Bkapi-Request-Id"); a != b || a == "" {
				t.Errorf("tries of one call have request ids %q and %q", a, b)
			}
		})
	}
}

func TestClient_retryWaitIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newServer(t, reply(http.StatusServiceUnavailable, `{"code":7,"message":"restarting"}`))
	cfg := testConfig(s.URL)
	cfg.RetryWaitMin, cfg.RetryWaitMax = time.Hour, time.Hour
	// The warning of a retry is written right before its wait.
	cfg.Logger = onWarning(func() { cancel(errors.New("user pressed Ctrl-C")) })
	_, err := newClient(t, cfg).Call(ctx, query, nil, nil)
	failure := failureOf(t, err)
	if failure.Kind != bkapi.KindCanceled || failure.Status != http.StatusServiceUnavailable {
		t.Fatalf("got %v, want a KindCanceled with the status of the attempt before", err)
	}
	procapitest.Check(t, failure.Sent && failure.Attempts == 1 && bkapi.HasCode(err, 7) && errors.Is(err, context.Canceled), "got %+v", failure)
	for _, want := range []string{"user pressed Ctrl-C", "restarting"} {
		procapitest.Check(t, strings.Contains(err.Error(), want), "%q lacks %q", err, want)
	}
}

// A clear answer to the second attempt does not undo what the first one may have done.
func TestClient_retryRemembersWhatMayHaveBeenDone(t *testing.T) {
	t.Parallel()
	for first, want := range map[int]bool{http.StatusBadGateway: true, http.StatusTooManyRequests: false} {
		s := newServer(t, reply(first, ""), reply(http.StatusForbidden, ""))
		_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, nil)
		if got, tries := bkapi.MayHaveActed(err), len(s.received()); got != want || tries != 2 {
			t.Errorf("%d and then 403: MayHaveActed is %t after %d tries: %v", first, got, tries, err)
		}
	}
}

// retryRow is a row of the table in the package documentation, with its causes. The reasons are in that table.
type retryRow struct {
	what       string
	repeatable string
	otherwise  string

	steps   []http.HandlerFunc // each of them, repeated, is an instance of the row
	prepare func(t *testing.T, cfg *bkapi.Config, s *server)
	// cold: the client has made no call before. In all other rows the platform has answered once, and leaves happens then.
	cold    bool
	leaves  func(s *server)
	kind    bkapi.Kind
	unknown bool // IsOutcomeUnknown for an operation
	unsent  bool // the server certainly has not received it
}

func retryTable() []retryRow {
	html := replyAs("text/html", http.StatusOK, "<html><title>Login</title></html>")
	code := func(n int) http.HandlerFunc { return ok(fmt.Sprintf(`null,"code":%d,"result":false`, n)) }
	elsewhere := func(endpoint func(*testing.T) string) func(*testing.T, *bkapi.Config, *server) {
		return func(t *testing.T, cfg *bkapi.Config, _ *server) {
			t.Helper()
			cfg.Endpoint = endpoint(t)
		}
	}
	closed := func(t *testing.T) string { t.Helper(); return procapitest.ClosedEndpoint(t) }
	untrusted := func(t *testing.T) string {
		t.Helper()
		s := newUnstartedServer(t, ok(`{}`))
		s.StartTLS()
		return s.URL
	}
	impatient := func(_ *testing.T, cfg *bkapi.Config, _ *server) { cfg.RequestTimeout = 500 * time.Millisecond }
	type steps = []http.HandlerFunc
	return []retryRow{
		{what: "no connection, none before", repeatable: "no", otherwise: "no", kind: bkapi.KindConnect, unsent: true, cold: true, steps: steps{ok(`{}`)}, prepare: elsewhere(closed)},
		{what: "no connection", repeatable: "yes", otherwise: "yes", kind: bkapi.KindConnect, unsent: true, steps: steps{ok(`{}`)}, leaves: func(s *server) { s.Close() }},
		{what: "not the platform", repeatable: "no", otherwise: "no", cold: true, steps: steps{
			html, reply(http.StatusOK, `{"status":"up","version":"1.2"}`), reply(http.StatusOK, `{"data":[1]}`), reply(http.StatusOK, `[]`),
			reply(http.StatusOK, "OK"), replyAs("text/html", http.StatusNotFound, "<html>404</html>"), reply(http.StatusMethodNotAllowed, `{"detail":"no"}`),
			redirectTo("/login", http.StatusFound), raw("SSH-2.0-OpenSSH_9.9\r\n"),
		}},
		{what: "server not trusted", repeatable: "no", otherwise: "no", kind: bkapi.KindTLS, unsent: true, cold: true, steps: steps{ok(`{}`)}, prepare: elsewhere(untrusted)},
		{what: "429", repeatable: "yes", otherwise: "yes", kind: bkapi.KindStatus, steps: steps{reply(http.StatusTooManyRequests, `{"code":1642901,"message":"rate limit"}`)}},
		{what: "ESB code 1306429", repeatable: "yes", otherwise: "yes", kind: bkapi.KindRefused, steps: steps{code(1306429)}},
		{what: "408 500 502 503 504", repeatable: "yes", otherwise: "no", kind: bkapi.KindStatus, unknown: true, steps: steps{
			reply(http.StatusRequestTimeout, ""), reply(http.StatusInternalServerError, ""), replyAs("text/html", http.StatusBadGateway, "<html>502</html>"),
			reply(http.StatusServiceUnavailable, `{"code":1,"message":"down"}`), reply(http.StatusGatewayTimeout, ""),
		}},
		{what: "ESB code 1306201 1306208", repeatable: "yes", otherwise: "no", kind: bkapi.KindRefused, unknown: true, steps: steps{code(1306201), code(1306208)}},
		{what: "other status", repeatable: "no", otherwise: "no", kind: bkapi.KindStatus, steps: steps{
			reply(http.StatusBadRequest, `{"code":1640001,"message":"bad"}`), reply(http.StatusUnauthorized, `{"code":1640101,"message":"who?"}`),
			reply(http.StatusForbidden, `{"code":1640301,"message":"no permission"}`), replyAs("text/html", http.StatusNotFound, "<html>404</html>"), reply(http.StatusConflict, ""),
		}},
		{what: "redirect", repeatable: "no", otherwise: "no", kind: bkapi.KindRedirect, steps: steps{
			redirectTo("/login", http.StatusFound), redirectTo("https://login.example.com/", http.StatusTemporaryRedirect),
		}},
		{what: "answer lost", repeatable: "yes", otherwise: "no", kind: bkapi.KindLost, unknown: true, steps: steps{reset, raw(""), raw("not HTTP at all\r\n\r\n")}},
		{what: "no answer in time", repeatable: "yes", otherwise: "no", kind: bkapi.KindLost, unknown: true, steps: steps{hang}, prepare: impatient},
		{what: "half an answer", repeatable: "yes", otherwise: "no", kind: bkapi.KindLost, unknown: true, steps: steps{halfAnswer}},
		{what: "not an envelope", repeatable: "once", otherwise: "no", kind: bkapi.KindFormat, unknown: true, steps: steps{html, reply(http.StatusOK, ""), reply(http.StatusOK, `{"result":tr`), ok(`"text"`)}},
		{what: "envelope says no", repeatable: "no", otherwise: "no", kind: bkapi.KindRefused, steps: steps{reply(http.StatusOK, `{"result":false,"code":1000115,"message":"queued","data":null}`)}},
	}
}

func TestDoc_retryTable(t *testing.T) {
	t.Parallel()
	doc, err := os.Open("doc.go")
	procapitest.NoError(t, err)
	defer func() { _ = doc.Close() }()
	columns := regexp.MustCompile(` {2,}`)
	var documented [][]string
	for lines := bufio.NewScanner(doc); lines.Scan(); {
		row, isRow := strings.CutPrefix(lines.Text(), "//\t")
		if cells := columns.Split(row, -1); isRow && len(cells) == 4 && cells[0] != "What happened" {
			documented = append(documented, cells[:3])
		}
	}
	var tested [][]string
	for _, row := range retryTable() {
		tested = append(tested, []string{row.what, row.repeatable, row.otherwise})
	}
	tested = append(tested,
		[]string{"context ended", "no", "no"},            // TestClient_retryStopsWhenContextEnds
		[]string{"deadline before the wait", "no", "no"}, // TestClient_retryKeepsErrorWhenDeadlineIsBeforeTheWait
	)
	procapitest.WantEqual(t, "documented (-) and tested (+) rows differ", documented, tested)
}

func TestError_text(t *testing.T) {
	t.Parallel()
	const url = "https://paas.example.com/api/x/"
	cause := errors.New("cause\n of it")
	for name, test := range map[string]struct {
		err  bkapi.Error
		want string
	}{
		"request":    {bkapi.Error{Kind: bkapi.KindRequest, Err: cause}, "x: the request cannot be built: cause of it"},
		"connect":    {bkapi.Error{Kind: bkapi.KindConnect, Err: cause, RequestID: "r1"}, "x: no connection to " + url + ": cause of it"},
		"tls":        {bkapi.Error{Kind: bkapi.KindTLS, Err: cause}, "x: the server at " + url + " is not to be trusted: cause of it"},
		"redirect":   {bkapi.Error{Kind: bkapi.KindRedirect, Status: 302, Err: cause}, "x: HTTP 302 from " + url + ": cause of it"},
		"format":     {bkapi.Error{Kind: bkapi.KindFormat, Err: cause}, "x: the answer from " + url + " is not one of the platform's: cause of it"},
		"canceled":   {bkapi.Error{Kind: bkapi.KindCanceled, Err: cause}, "x: stopped before the answer arrived: cause of it"},
		"odd-status": {bkapi.Error{Kind: bkapi.KindStatus, Status: 599}, "x: HTTP 599 from " + url},
		"status": {
			bkapi.Error{Kind: bkapi.KindStatus, Status: 403, Code: 1640301, Message: "no permission", Sent: true, RequestID: "r1"},
			"x: HTTP 403 Forbidden from " + url + ": no permission (code 1640301, request id r1)",
		},
		"lost": {
			bkapi.Error{Kind: bkapi.KindLost, Err: cause, Attempts: 3, Elapsed: 4200 * time.Millisecond},
			"x: no usable answer from " + url + " after the request was sent: cause of it (3 tries in 4.2s)",
		},
		"refused": {
			bkapi.Error{Kind: bkapi.KindRefused, Code: 1000115, Message: "redis reply\r\nis not \x1b[31mstring", Sent: true, RequestID: "r1"},
			"x: refused by the platform: redis reply is not [31mstring (code 1000115, request id r1)",
		},
	} {
		test.err.API, test.err.URL = "x", url
		procapitest.WantEqual(t, name, test.want, test.err.Error())
	}
}

func TestError_isFoundThroughChain(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply(http.StatusOK, `{"result":false,"code":"850","message":"exists"}`))
	_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, nil)
	wrapped := fmt.Errorf("registering: %w", errors.Join(errors.New("other"), err))
	var failure *bkapi.Error
	procapitest.Check(t, errors.As(wrapped, &failure) && failure.Message == "exists", "errors.As does not find the *Error in %v", wrapped)
	procapitest.Check(t, bkapi.HasCode(wrapped, 850) && !bkapi.HasCode(wrapped, 829) && !bkapi.HasCode(nil, 850), "HasCode is wrong")
	procapitest.Check(t, !bkapi.HasCode(&bkapi.Error{Kind: bkapi.KindConnect}, 0), "no code is taken for code 0")
	procapitest.Check(t, !bkapi.IsTransient(errors.New("other")) && !bkapi.IsOutcomeUnknown(nil), "a stranger's error is classified")
}

func TestError_quotesOneLine(t *testing.T) {
	t.Parallel()
	page := "<html>\n<head><title>Sign in</title></head>\n" + strings.Repeat("<p>text</p>\n", 10_000)
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		s := newServer(t, replyAs("text/html; charset=utf-8", status, page))
		_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, nil)
		text := err.Error()
		procapitest.Check(t, strings.Contains(text, `text/html; charset=utf-8 beginning "<html> <head><title>Sign in`), "got %s", text)
		procapitest.Check(t, !strings.Contains(text, "\n") && len(text) <= 500, "%d characters: %s", len(text), text)
	}
}

func TestDenialOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step http.HandlerFunc
		want bkapi.Denial
	}{
		"wrong-secret":   {reply(http.StatusUnauthorized, `{"code":1640101,"message":"App authentication failed","data":null,"result":false}`), bkapi.DeniedApp},
		"wrong-token":    {reply(http.StatusUnauthorized, `{"code":1640102,"message":"User authentication failed","data":null,"result":false}`), bkapi.DeniedUser},
		"unknown-code":   {reply(http.StatusUnauthorized, `{"error":{"code":"UNAUTHENTICATED","message":"who?"}}`), bkapi.DeniedIdentity},
		"no-permission":  {reply(http.StatusForbidden, `{"code":1640301,"message":"App has no permission to the resource"}`), bkapi.DeniedPermission},
		"another-server": {replyAs("text/html", http.StatusForbidden, "<html>403</html>"), bkapi.NotDenied},
		"not-found":      {reply(http.StatusNotFound, `{"code":1640401}`), bkapi.NotDenied},
		"in-an-envelope": {reply(http.StatusOK, `{"code":1640101}`), bkapi.NotDenied},
	} {
		_, err := newClient(t, testConfig(newServer(t, test.step).URL)).Call(t.Context(), query, nil, nil)
		procapitest.WantEqual(t, fmt.Sprintf("%s: %v", name, err), test.want, bkapi.DenialOf(err))
	}
	procapitest.WantEqual(t, "another error", bkapi.NotDenied, bkapi.DenialOf(errors.New("HTTP 401")))
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"plain":           {"up and running", "up and running"},
		"lines-and-tabs":  {"one\n\ttwo\n", "one\n\ttwo\n"},
		"other-line-ends": {"one\r\ntwo\vthree\ffour\u0085five\u2028six", "one\ntwo three four five six"},
		"other-spaces":    {"one\u00a0two\u3000three", "one two three"},
		"languages":       {"进程启动失败 é ß Ω 🙂", "进程启动失败 é ß Ω 🙂"},
		"escape":          {"\x1b[31mred\x1b[0m", "[31mred[0m"},
		"title":           {"\x1b]0;owned\a", "]0;owned"},
		"delete":          {"a\b\x7fb\x00", "ab"},
		"c1":              {"\u009b31m\u0090q\u009c", "31mq"},
		"c1-as-bytes":     {"\x9b31m", "\uFFFD31m"},
		"latin-1":         {"caf\xe9 au lait", "caf\uFFFD au lait"},
		"bidi":            {"\u202ecod.exe\u202c \u2066x\u2069 \u200f\u061c", "cod.exe x "},
		"invisible":       {"a\u200b\u200d\ufeff\u00ad\U000E0041b", "ab"},
		"private-use":     {"\ue000x\U0010fffd", "x"},
	} {
		procapitest.WantEqual(t, name, test.want, bkapi.Printable(test.text))
	}
}
