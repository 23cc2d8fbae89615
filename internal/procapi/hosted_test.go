package procapi

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// The client asks what an agent hosts until it has read that, a permanent error occurs, or the time is up.
// Hosts that have been read stay read.
func TestReadHosted(t *testing.T) {
	t.Parallel()
	const notRead = "the answer could not be obtained: result: "
	refused := *noSuchTask
	refused.RequestID = "r2"
	forbidden := &bkapi.Error{API: "run", Kind: bkapi.KindStatus, Status: http.StatusForbidden, URL: "here", RequestID: "r1", Sent: true}
	type look struct {
		read int // of the hosts that are asked for
		err  error
	}
	for name, c := range map[string]struct {
		task  string
		sent  error
		looks []look // the last is repeated
		asked int    // hosts, in all looks, 0 if it does not matter
		want  string // of the second host, "" if it was read
	}{
		"at-once":          {"T", nil, []look{{2, nil}}, 2, ""},
		"in-turn":          {"T", nil, []look{{1, nil}, {0, nil}, {1, nil}}, 4, ""},
		"queued":           {"T", nil, []look{{1, taskQueued}, {1, nil}}, 3, ""},
		"bad-gateway":      {"T", nil, []look{{1, badGateway}, {1, nil}}, 3, ""},
		"late":             {"T", nil, []look{{1, badGateway}, {0, nil}}, 0, "the agent had not answered (task T)"},
		"late-bad-gateway": {"T", nil, []look{{1, nil}, {0, badGateway}}, 0, notRead + "HTTP 502 Bad Gateway from  (task T)"},
		"refused":          {"T", nil, []look{{1, &refused}}, 2, notRead + "refused by the platform (code 1, task T, request id r2)"},
		"no-task":          {"", nil, nil, 0, notRun + "the platform accepted it and named no task (request id req-1)"},
		"not-permitted":    {"", forbidden, nil, 0, notRun + "run: HTTP 403 Forbidden from here (request id r1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				both, looks, asked := procapitest.Parse(t, one1, two2), c.looks, 0
				got := ReadHosted(ctx, Options{}.OrDefaults(), slices.Chunk(both, 2), func([]fleet.Host) Script {
					return Script{
						Send: func(context.Context) (string, bkapi.Reply, error) {
							return c.task, bkapi.Reply{RequestID: "req-1"}, c.sent
						},
						Look: func(_ context.Context, _ string, hosts []fleet.Host) (map[fleet.Host]hostedspec.Reading, error) {
							now, read := looks[0], make(map[fleet.Host]hostedspec.Reading)
							looks, asked = looks[min(1, len(looks)-1):], asked+len(hosts)
							for _, h := range hosts[:now.read] {
								read[h] = hostedspec.Reading{Entries: make([]hostedspec.Entry, 1)}
							}
							return read, now.err
						},
					}
				})
				if got[both[1]].Reason() != c.want || (c.want == "") != (len(got[both[1]].Entries) == 1) || c.asked > 0 && asked != c.asked {
					t.Errorf("got %+v (%s) of %d hosts, want %q of %d", got[both[1]], got[both[1]].Reason(), asked, c.want, c.asked)
				}
				if len(c.looks) > 0 && len(got[both[0]].Entries) != 1 {
					t.Errorf("the first host was read, and has %+v", got[both[0]])
				}
			})
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	set := Options{MaxHosts: 7, Backoff: poll.Backoff{First: time.Hour}}.OrDefaults()
	unset := Options{}.OrDefaults()
	if set.MaxHosts != 7 || set.Backoff.First != time.Hour || unset.MaxHosts != DefaultMaxHosts || unset.Backoff != poll.DefaultBackoff() {
		t.Errorf("set: %+v, unset: %+v", set, unset)
	}
	for message, want := range map[string]string{
		"":                            "the agent is abnormal or not found (code 117, request id r1)",
		"agent abnormal or not found": "the agent is abnormal or not found (code 117, request id r1)",
		"no heartbeat":                "the agent is abnormal or not found: no heartbeat (code 117, request id r1)",
	} {
		if got := unset.Refused(CodeAgentAbnormal, message, "r1").Reason(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A registration that may exist must not be forgotten. One that the platform refused, or that certainly did
// nothing, may be.
func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome  fleet.Outcome
		accepted bool
		want     fleet.Verdict
	}{
		"done":            {fleet.Outcome{}, true, fleet.Done},
		"platform-failed": {fleet.Outcome{Verdict: fleet.Failed, Code: 117}, true, fleet.Failed},
		"not-accepted":    {fleet.Outcome{Verdict: fleet.Failed, Err: noSuchTask}, false, fleet.Failed},
		"accepted-before": {fleet.Outcome{Verdict: fleet.Failed, Err: noSuchTask}, true, fleet.Lost},
		"may-have-acted":  {fleet.Outcome{Verdict: fleet.Failed, Err: badGateway}, false, fleet.Lost},
		"no-task":         {fleet.Outcome{Verdict: fleet.Failed, Err: errNoTask}, false, fleet.Lost},
		"not-tried":       {fleet.Outcome{Verdict: fleet.NotTried, Err: context.Canceled}, true, fleet.NotTried},
	} {
		one := procapitest.Parse(t, one1)
		if got := Unconfirmed(fleet.Same(one, c.outcome), c.accepted)[one[0]].Verdict; got != c.want {
			t.Errorf("%s: got verdict %d, want %d", name, got, c.want)
		}
	}
}
