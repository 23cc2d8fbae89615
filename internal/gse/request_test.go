package gse

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// The bodies in testdata are the samples of the documents, made valid JSON, with
// the tables' spelling of crontab_rule and the credentials that the ESB wants.
func TestRequests_golden(t *testing.T) {
	t.Parallel()
	var (
		documented = []string{"1:2:10.0.0.1"}
		mixed      = []string{"0:2001:db8::1", "3:7:10.0.0.1"}
		minimal    = Meta{Namespace: "web", Name: "nginx"}
	)
	tests := map[string]struct {
		meta  Meta
		spec  *Spec
		hosts []string
		call  func(context.Context, *Process, []fleet.Host)
		steps []exchange
		file  string // of the last request
	}{
		"register": {
			sampleMeta, sampleSpec(), documented,
			func(ctx context.Context, p *Process, hosts []fleet.Host) { p.Register(ctx, hosts) },
			[]exchange{{api: apiRegister, reply: data(said("1:2:10.0.0.1:gse:proc-test", code(0)))}}, "register_proc_info",
		},
		"register-minimal": {
			minimal, minimalSpec(), mixed,
			func(ctx context.Context, p *Process, hosts []fleet.Host) { p.Register(ctx, hosts) },
			[]exchange{{api: apiRegister, reply: data(said("0:0:2001:db8::1:web:nginx", code(0), "3:7:10.0.0.1:web:nginx", code(0)))}}, "register_proc_info_minimal",
		},
		"update": {
			sampleMeta, sampleSpec(), documented,
			func(ctx context.Context, p *Process, hosts []fleet.Host) { p.Reregister(ctx, hosts) },
			[]exchange{{api: apiUpdate, reply: data(said("1:2:10.0.0.1:gse:proc-test", code(0)))}}, "update_proc_info",
		},
		"unregister": {
			sampleMeta, sampleSpec(), documented,
			func(ctx context.Context, p *Process, hosts []fleet.Host) { p.Unregister(ctx, hosts) },
			[]exchange{{api: apiUnregister, reply: data(said("1:2:10.0.0.1:gse:proc-test", code(0)))}}, "unregister_proc_info",
		},
		"unregister-without-spec": {
			sampleMeta, nil, documented,
			func(ctx context.Context, p *Process, hosts []fleet.Host) { p.Unregister(ctx, hosts) },
			[]exchange{{api: apiUnregister, reply: data(said("1:2:10.0.0.1:gse:proc-test", code(0)))}}, "unregister_proc_info",
		},
		"operate": {
			sampleMeta, sampleSpec(), documented,
			func(ctx context.Context, p *Process, hosts []fleet.Host) { p.Operate(ctx, fleet.Start, hosts) },
			[]exchange{{api: apiOperate, reply: refusal(1, "null")}}, "operate_proc_v2",
		},
		// Hosting makes the agent enforce the limits, so it is given them, although
		// the document of the operation has none.
		"host": {
			sampleMeta, sampleSpec(), documented,
			func(ctx context.Context, p *Process, hosts []fleet.Host) { p.Operate(ctx, fleet.HostIt, hosts) },
			[]exchange{{api: apiOperate, reply: refusal(1, "null")}}, "operate_proc_v2_host",
		},
		"operate-minimal": {
			minimal, minimalSpec(), mixed,
			func(ctx context.Context, p *Process, hosts []fleet.Host) { p.Operate(ctx, fleet.Kill, hosts) },
			[]exchange{{api: apiOperate, reply: refusal(1, "null")}}, "operate_proc_v2_minimal",
		},
		"result": {
			sampleMeta, sampleSpec(), documented,
			func(ctx context.Context, p *Process, hosts []fleet.Host) { p.Operate(ctx, fleet.Start, hosts) },
			[]exchange{accepted, result(said("1:10.0.0.1:gse:proc-test", code(0)))}, "get_proc_operate_result_v2",
		},
		"cached-status": {
			sampleMeta, nil, documented,
			func(ctx context.Context, p *Process, hosts []fleet.Host) { _, _ = p.CachedStatus(ctx, hosts) },
			[]exchange{{api: apiStatus, reply: data(`{"proc_infos":[]}`)}}, "get_proc_status_v2",
		},
		"list": {
			sampleMeta, nil, documented,
			func(ctx context.Context, p *Process, _ []fleet.Host) {
				_ = p.client.List(ctx, "gse", 0, func(Row) bool { return true })
			},
			[]exchange{{api: apiSync, reply: data(`{"count":0,"proc_infos":[]}`)}}, "sync_proc_status",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, url := newScript(t, test.steps...)
			test.call(t.Context(), quick(t, url).Process(test.meta, test.spec), parse(t, test.hosts...))
			requests := script.requests()
			wantBody(t, test.file, requests[len(requests)-1])
		})
	}
}

func wantBody(t *testing.T, file string, sent []byte) {
	t.Helper()
	golden, err := os.ReadFile(filepath.Join("testdata", file+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(normal(t, golden), normal(t, sent)); diff != "" {
		t.Errorf("body (-document +sent):\n%s", diff)
	}
}

// normal is JSON without the order of its members and the spelling of its numbers.
func normal(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// Source: operate_proc_v2, `op_type`. 2 is LiveStatus.
func TestOperate_opTypes(t *testing.T) {
	t.Parallel()
	for op, want := range map[fleet.Operation]int{
		fleet.Start: 0, fleet.Stop: 1, procapi.Query: 2, fleet.HostIt: 3, fleet.Unhost: 4, fleet.Restart: 7, fleet.Reload: 8, fleet.Kill: 9,
	} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			script, url := newScript(t, exchange{api: apiOperate, reply: refusal(1, "null")})
			p := quick(t, url).Process(sampleMeta, sampleSpec())
			if op == procapi.Query {
				_, _ = p.LiveStatus(t.Context(), hosts(1))
			} else {
				p.Operate(t.Context(), op, hosts(1))
			}
			var body struct {
				OpType *int `json:"op_type"`
			}
			if err := json.Unmarshal(script.requests()[0], &body); err != nil || body.OpType == nil || *body.OpType != want {
				t.Errorf("got %v, %v, want %d", body.OpType, err, want)
			}
		})
	}
}

func TestControl_Command(t *testing.T) {
	t.Parallel()
	control := sampleSpec().Control
	for op, want := range map[fleet.Operation]string{
		fleet.Start: "./start.sh", fleet.Stop: "./stop.sh", fleet.Restart: "./restart.sh", fleet.Reload: "./reload.sh", fleet.Kill: "./kill.sh",
	} {
		if got := control.Command(op); got == nil || *got != want {
			t.Errorf("%s: got %v, want %s", op, got, want)
		}
		if got := (Control{}).Command(op); got != nil {
			t.Errorf("%s: got %s of a control without commands", op, *got)
		}
	}
	for _, op := range []fleet.Operation{fleet.HostIt, fleet.Unhost, procapi.Query} {
		if got := control.Command(op); got != nil {
			t.Errorf("%s: got %s, but it runs no command", op, *got)
		}
	}
}
