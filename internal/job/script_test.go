package job

import (
	"net/http"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/poll"
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

func newScript(t *testing.T, steps ...exchange) (*procapitest.Script, string) {
	t.Helper()
	return procapitest.NewScript(t, "/api/c/compapi/v2/jobv3/%s/", steps...)
}

// refusal is an answer that refuses a request.
func refusal(code int, message string) http.HandlerFunc {
	return procapitest.Refusal(code, message, "null")
}

var (
	// accepted and registered are accepted operations with task T.
	accepted   = exchange{API: apiOperate, Reply: procapitest.Data(`{"bk_gse_taskid":"T"}`)}
	registered = exchange{API: apiManage, Reply: procapitest.Data(`{"bk_gse_taskid":"T"}`)}
)

// result is one answer about task T, with the status of the document's sample.
func result(body string) exchange {
	return exchange{API: apiResult, Reply: procapitest.Data(`{"status":115,"result":` + body + `}`)}
}

// foundOn is the query after a manage_proc, with the answers of these hosts' agents.
func foundOn(instance string, numbers ...int) []exchange {
	pairs := make([]string, 0, 2*len(numbers))
	for _, n := range numbers {
		pairs = append(pairs, key(n), answered(instance))
	}
	return []exchange{accepted, result(said(pairs...))}
}

// quick is a client of endpoint that waits a millisecond between polls and does not retry requests.
func quick(t *testing.T, endpoint string) *Client {
	t.Helper()
	return newTestClient(t, endpoint, nil)
}

// newTestClient lets edit change the configuration first.
func newTestClient(t *testing.T, endpoint string, edit func(*bkapi.Config, *Options)) *Client {
	t.Helper()
	cfg := bkapi.Config{
		Endpoint: endpoint, Gateway: bkapi.ESB,
		AppCode: "esb_test", AppSecret: "xxx", Token: "xxx",
		RetryWaitMin: time.Millisecond, RetryWaitMax: time.Millisecond,
	}
	opts := Options{Backoff: poll.Backoff{First: time.Millisecond}}
	if edit != nil {
		edit(&cfg, &opts)
	}
	api, err := bkapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return NewClient(api, opts)
}
