package gse

import (
	"net/http"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// The words that the tables are written in.
type exchange = procapitest.Exchange

var (
	host  = procapitest.Host
	hosts = procapitest.Hosts
	said  = procapitest.Said
	code  = procapitest.Code
)

// newScript is a script of the ESB.
func newScript(t *testing.T, steps ...exchange) (*procapitest.Script, string) {
	t.Helper()
	return procapitest.NewScript(t, "/api/c/compapi/v2/gse/%s/", steps...)
}

// atFace is a client of a face that is scripted.
func atFace(t *testing.T, face string, steps ...exchange) (*Client, *procapitest.Script) {
	t.Helper()
	if face == "apigw" {
		script, url := newGateway(t, steps...)
		return newTestClient(t, url, overGateway), script
	}
	script, url := newScript(t, steps...)
	return quick(t, url), script
}

// refusal is an answer that refuses a request.
func refusal(code int, data string) http.HandlerFunc {
	return procapitest.Refusal(code, "redis reply is not string", data)
}

// accepted is an operation that became task T.
var accepted = exchange{API: apiOperate, Reply: procapitest.Data(`{"task_id":"T"}`)}

// result is one answer about task T.
func result(body string) exchange { return exchange{API: apiResult, Reply: procapitest.Data(body)} }

// quick is a client of endpoint that waits a millisecond between polls and does not retry requests.
func quick(tb testing.TB, endpoint string) *Client {
	tb.Helper()
	return newTestClient(tb, endpoint, nil)
}

// newTestClient lets edit change the configuration first.
func newTestClient(tb testing.TB, endpoint string, edit func(*bkapi.Config, *procapi.Options)) *Client {
	tb.Helper()
	cfg := bkapi.Config{
		Endpoint: endpoint, Gateway: bkapi.ESB,
		AppCode: "bk_test", AppSecret: "s3cret", Username: "admin",
		RetryWaitMin: time.Millisecond, RetryWaitMax: time.Millisecond,
	}
	opts := procapi.Options{Backoff: poll.Backoff{First: time.Millisecond}}
	if edit != nil {
		edit(&cfg, &opts)
	}
	api, err := bkapi.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(api.Close)
	return NewClient(api, cfg.Gateway, opts)
}
