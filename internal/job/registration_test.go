package job

import (
	"net/http"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

func TestRegistration(t *testing.T) {
	t.Parallel()
	var (
		register   = func(p *Process) fleet.Results { return p.Register(t.Context(), hosts(2)) }
		reregister = func(p *Process) fleet.Results { return p.Reregister(t.Context(), hosts(2)) }
		unregister = func(p *Process) fleet.Results { return p.Unregister(t.Context(), hosts(2)) }

		done  = outcome(fleet.Done, 0)
		taken = already(outcome(fleet.Failed, 850))
	)
	tests := map[string]struct {
		call  func(*Process) fleet.Results
		steps []exchange // after the one that is accepted
		want  map[int]fleet.Outcome
	}{
		"register": {
			register, []exchange{queued, result(said(key(1), code(115), key(2), code(0))), result(said(key(1), code(0)))},
			map[int]fleet.Outcome{1: done, 2: done},
		},
		"register-taken": {
			register, []exchange{result(said(key(1), code(850), key(2), code(0)))},
			map[int]fleet.Outcome{1: taken, 2: done},
		},
		"register-stopped": { // what a manage_proc that stops may answer
			register, []exchange{result(said(key(1), code(829), key(2), code(0)))},
			map[int]fleet.Outcome{1: outcome(fleet.Failed, 829), 2: done},
		},
		"reregister": {
			reregister, []exchange{result(said(key(1), code(0), key(2), code(117)))},
			map[int]fleet.Outcome{1: done, 2: outcome(fleet.Failed, 117)},
		},
		"unregister": {
			unregister, []exchange{result(said(key(1), code(829), key(2), code(0)))},
			map[int]fleet.Outcome{1: already(outcome(fleet.Done, 829)), 2: done},
		},
		"unregister-fails": {
			unregister, []exchange{result(said(key(1), code(850), key(2), code(117)))},
			map[int]fleet.Outcome{1: outcome(fleet.Failed, 850), 2: outcome(fleet.Failed, 117)},
		},
	}
	for by, first := range map[Registration]exchange{RegisterByOperate: accepted, RegisterByManage: registered} {
		for name, test := range tests {
			t.Run(string(by)+"/"+name, func(t *testing.T) {
				t.Parallel()
				_, url := newScript(t, append([]exchange{first}, test.steps...)...)
				wantResults(t, test.want, test.call(quick(t, url).Process(scope, by, operateInfo())))
			})
		}
	}
}

// Where JOB refuses to register what is registered, it is removed first, on those
// hosts alone.
func TestReregister_replaces(t *testing.T) {
	t.Parallel()
	for by, first := range map[Registration]exchange{RegisterByOperate: accepted, RegisterByManage: registered} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			script, url := newScript(t,
				first, result(said(key(1), code(0), key(2), code(850), key(3), code(850))),
				first, result(said(key(2), code(0), key(3), code(117))),
				first, result(said(key(2), code(0))))
			results := quick(t, url).Process(scope, by, operateInfo()).Reregister(t.Context(), hosts(3))
			wantResults(t, map[int]fleet.Outcome{
				1: outcome(fleet.Done, 0), 2: outcome(fleet.Done, 0), 3: outcome(fleet.Failed, 117),
			}, results)
			register, unregister := 3, 4
			if by == RegisterByManage {
				register, unregister = 1, 2
			}
			wantAsked(t, script, asked{register, []int{1, 2, 3}}, asked{unregister, []int{2, 3}}, asked{register, []int{2}})
		})
	}
}

// A retry after a lost answer: the 850 may be our own.
func TestRegister_resent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first http.HandlerFunc
		want  bool
	}{
		"lost":        {gone, true},
		"turned-away": {answer(http.StatusTooManyRequests, "{}"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, exchange{api: apiOperate, reply: test.first}, accepted, result(said(key(1), code(850))))
			client := newTestClient(t, url, func(cfg *bkapi.Config, _ *Options) { cfg.MaxRetries = 1 })
			got := client.Process(scope, "", operateInfo()).Register(t.Context(), hosts(1))[host(1)]
			if got.Verdict != fleet.Failed || !got.AlreadyDone || got.Repeated != test.want {
				t.Errorf("got %+v, want registered already, Repeated %t", got, test.want)
			}
		})
	}
}
