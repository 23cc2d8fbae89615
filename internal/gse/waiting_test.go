package gse

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

var (
	queued     = exchange{API: apiResult, Reply: refusal(procapi.CodeTaskQueued, "null")}
	badGateway = exchange{API: apiResult, Reply: procapitest.Answer(http.StatusBadGateway, "<html>Bad Gateway</html>")}
)

// How the wait treats the answers of the platform; package procapi tests the wait itself. After each of
// these the client asks again. The script begins with the one request that starts the operation, so a
// second such request would fail the test.
func TestOperate_waits(t *testing.T) {
	t.Parallel()
	both := result(said(v2(1), code(65535), v2(2), code(828)))
	for name, early := range map[string]exchange{
		"in-progress":         result(said(v2(1), code(115), v2(2), code(115))),
		"missing":             result("{}"),
		"queued":              queued,
		"queued-with-object":  {API: apiResult, Reply: refusal(procapi.CodeTaskQueued, "{}")},
		"queued-code-as-text": {API: apiResult, Reply: procapitest.Answer(http.StatusOK, `{"code":"1000115","message":"queued","data":null}`)},
		"null-data":           result("null"),
		"text-data":           result(`""`),
		"bad-gateway":         badGateway,
		"login-page":          {API: apiResult, Reply: procapitest.Answer(http.StatusOK, "<html>")},
		"keys-of-others": result(said("0:10.0.0.9:gse:proc-test", code(0), "0:7:10.0.0.1:gse:proc-test", code(0),
			"10.0.0.1:gse:proc-test", code(0), v2(1)+"2", code(0), "", code(0))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, accepted, procapitest.Times(3, early), both)
			results := quick(t, url).Process(sampleMeta, sampleSpec()).Operate(t.Context(), fleet.Start, hosts(2), nil)
			procapitest.WantResults(t, map[int]fleet.Outcome{
				1: byTask(ran(outcome(fleet.Failed, 65535))), 2: byTask(already(outcome(fleet.Done, 828))),
			}, results)
		})
	}
}

// However the wait ends, the first verdict is kept. The second host is pending, because the platform
// accepted the operation.
func TestOperate_waitEnds(t *testing.T) {
	t.Parallel()
	first := result(said(v2(1), code(0)))
	for name, test := range map[string]struct {
		last  exchange
		cause error // ends the context while the client waits for the last answer
		says  string
	}{
		"deadline":     {exchange{API: apiResult}, context.DeadlineExceeded, ""},
		"interrupt":    {exchange{API: apiResult}, context.Canceled, ""},
		"forbidden":    {exchange{API: apiResult, Reply: procapitest.Answer(http.StatusForbidden, `{"code":1640301,"message":"no permission"}`)}, nil, "no permission"},
		"not-found":    {exchange{API: apiResult, Reply: procapitest.Answer(http.StatusNotFound, `{"code":1306404,"message":"not found"}`)}, nil, "HTTP 404"},
		"other-number": {exchange{API: apiResult, Reply: refusal(1011003, "null")}, nil, "1011003"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, end := procapitest.Ending(t, test.cause)
			meaning := "the platform's result could not be read"
			if test.cause != nil {
				test.last.Reply, meaning = procapitest.Hang(end), "the platform's result did not mention the host"
			}
			_, url := newScript(t, accepted, first, test.last)
			results := quick(t, url).Process(sampleMeta, sampleSpec()).Operate(ctx, fleet.Start, hosts(2), nil)
			got := results[host(2)]
			if !results[host(1)].OK() || got.Verdict != fleet.Pending || got.TaskID != "T" || got.Meaning != meaning {
				t.Fatalf("got %+v, want host 1 done and host 2 pending", results)
			}
			if text := got.Err.Error(); !errors.Is(got.Err, test.cause) && test.cause != nil || !strings.Contains(text, "task T") || !strings.Contains(text, test.says) {
				t.Errorf("got %q, want the task and %q", text, test.says)
			}
		})
	}
}
