package bkapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

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
		"canceled":   {bkapi.Error{Kind: bkapi.KindCanceled, Err: cause}, "x: stopped before the answer was in: cause of it"},
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
