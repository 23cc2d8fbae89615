package job

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Answers of a platform that lacks such an endpoint, or seems to.
func TestIsRemoved(t *testing.T) {
	t.Parallel()
	// The sentence is the ESB's: RequestThirdPartyException in paas2/esb/common/errors.py, with its text
	// for a status.
	bus := func(status string) http.HandlerFunc {
		return refusal(1306201, "Request third-party interface error, Component request third-party system [JOBV3] "+
			"interface [operate_process] error: Status Code: "+status+", please try again later")
	}
	for name, test := range map[string]struct {
		reply http.HandlerFunc
		want  bool
	}{
		"http-404":           {procapitest.Answer(http.StatusNotFound, `{"status":404,"error":"Not Found"}`), true},
		"http-404-page":      {procapitest.Answer(http.StatusNotFound, "<html>"), true},
		"http-404-with-code": {procapitest.Answer(http.StatusNotFound, `{"result":false,"code":1306404,"message":"not found"}`), true},
		"no-component":       {refusal(1306404, "Not found, component class not found"), true},
		"no-channel":         {refusal(1306405, "Not found, inactive channel"), true},
		"backend-404":        {bus("404, Error Message: Third-party system does not find this interface"), true},
		"backend-502":        {bus("502, Error Message: Third-party system Bad Gateway"), false},
		"http-502":           {procapitest.Answer(http.StatusBadGateway, "404"), false},
		"http-403":           {procapitest.Answer(http.StatusForbidden, `{"code":1640301,"message":"no permission"}`), false},
		"refused":            {refusal(1241002, "illegal parameter, Status Code: 404"), false},
		"gse-trouble":        {refusal(codeGSEError, "GSE error"), false},
		"lost":               {procapitest.Gone, false},
	} {
		p, _ := scripted(t, "", exchange{API: apiOperate, Reply: test.reply})
		got := p.Operate(t.Context(), fleet.Start, hosts(1), nil)[host(1)]
		if got.Err == nil || IsRemoved(fmt.Errorf("wrapped: %w", got.Err)) != test.want {
			t.Errorf("%s: got %t of %v", name, !test.want, got.Err)
		}
		// At a missing endpoint nothing can have begun, whatever the code means otherwise.
		if test.want && (got.Verdict != fleet.Failed || !strings.Contains(got.Meaning, "does not have the process API")) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	for _, err := range []error{nil, errors.New("HTTP 404"), &bkapi.Error{Kind: bkapi.KindConnect}} {
		if IsRemoved(err) {
			t.Errorf("got true of %v", err)
		}
	}
}

// Promised in beliefs.md: The `bk_job_*` objects fail.
func TestFlow_removed(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{JobRemoved: true, AppCode: "esb_test", AppSecret: "xxx"}
	p := newTestClient(t, procapitest.Serve(t, sim), func(cfg *bkapi.Config, _ *Options) { cfg.MaxRetries = 2 }).Process(scope, "", operateInfo())
	results := p.Operate(t.Context(), fleet.Restart, hosts(1), nil)
	results.Merge(p.Register(t.Context(), []fleet.Host{host(2)}))
	results.Merge(p.client.Process(scope, RegisterByManage, operateInfo()).Register(t.Context(), []fleet.Host{host(3)}))
	for h, o := range results {
		if o.Verdict != fleet.Failed || !IsRemoved(o.Err) {
			t.Errorf("%s: got %+v", h, o)
		}
	}
	if _, err := p.CachedStatus(t.Context(), hosts(1)); !IsRemoved(err) {
		t.Errorf("got %v", err)
	}
	procapitest.WantEqual(t, "calls", []string{apiOperate, apiOperate, apiManage, apiOperate}, sim.Calls().APIs())
}
