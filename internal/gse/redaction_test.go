package gse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// echoed is what a platform says that repeats the secret of quick's clients.
const echoed = `sent: s3cret`

// What a platform says of a host holds no secret, whichever call it answers.
func TestProcess_repeatsNoSecret(t *testing.T) {
	t.Parallel()
	failed := fmt.Sprintf(`{"error_code":65535,"error_msg":%q}`, echoed)
	long := `"` + strings.Repeat("x", 190) + echoed + `"` // no result, and quoted up to the secret's middle
	for name, test := range map[string]struct {
		steps []exchange
		act   func(*Process) fleet.Results
	}{
		"register": {
			[]exchange{{API: apiRegister, Reply: procapitest.Data(said(v1(1), failed))}},
			func(p *Process) fleet.Results { return registerOnly(t.Context(), p, hosts(1)) },
		},
		"operate": {
			[]exchange{accepted, result(said(v2(1), failed))},
			func(p *Process) fleet.Results { return p.Operate(t.Context(), fleet.Start, hosts(1), nil) },
		},
		"no-result": {
			[]exchange{accepted, result(said(v2(1), long))},
			func(p *Process) fleet.Results { return p.Operate(t.Context(), fleet.Start, hosts(1), nil) },
		},
		"task": {
			[]exchange{{API: apiOperate, Reply: procapitest.Data(fmt.Sprintf(`{"task_id":%q}`, echoed))}, result(said(v2(1), code(0)))},
			func(p *Process) fleet.Results { return p.Operate(t.Context(), fleet.Start, hosts(1), nil) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, test.steps...)
			outcome := test.act(quick(t, url).Process(sampleMeta, sampleSpec()))[host(1)]
			wantNoSecret(t, outcome.Message+outcome.TaskID)
		})
	}
}

func TestProcess_statusRepeatsNoSecret(t *testing.T) {
	t.Parallel()
	live := func(content string) []exchange {
		return []exchange{accepted, result(said(v2(1), `{"error_code":0,"content":`+content+`}`))}
	}
	for name, test := range map[string]struct {
		steps  []exchange
		status func(*Process) (map[fleet.Host]fleet.Status, error)
	}{
		"cached-version": {
			[]exchange{{API: apiStatus, Reply: procapitest.Data(`{"proc_infos":[{"meta":{"namespace":"gse","name":"proc-test"},"host":{"ip":"10.0.0.1","bk_cloud_id":0},"status":1,"version":"` + echoed + `"}]}`)}},
			func(p *Process) (map[fleet.Host]fleet.Status, error) { return p.CachedStatus(t.Context(), hosts(1)) },
		},
		"live-version": {
			live(asText(one(`{"pid":42,"isAuto":true,"version":"` + echoed + `"}`))),
			func(p *Process) (map[fleet.Host]fleet.Status, error) { return p.LiveStatus(t.Context(), hosts(1)) },
		},
		"unreadable": {
			live(asText(echoed)),
			func(p *Process) (map[fleet.Host]fleet.Status, error) { return p.LiveStatus(t.Context(), hosts(1)) },
		},
		"unreadable-and-long": {
			live(asText(strings.Repeat("x", 193) + echoed)),
			func(p *Process) (map[fleet.Host]fleet.Status, error) { return p.LiveStatus(t.Context(), hosts(1)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, test.steps...)
			statuses, err := test.status(quick(t, url).Process(sampleMeta, sampleSpec()))
			if err != nil {
				t.Fatal(err)
			}
			wantNoSecret(t, statuses[host(1)].Version+statuses[host(1)].Message)
		})
	}
}

// wantNoSecret wants what stands around the secret, and no part of the secret.
func wantNoSecret(t *testing.T, text string) {
	t.Helper()
	if before, after, found := strings.Cut(text, "sent: "); !found && !strings.HasSuffix(text, "sent…") || strings.HasPrefix(after, "s") {
		t.Errorf("got %q and %q", before, after)
	}
}
