package job

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// agent is a JOB with one host that does all it is told and answers queries from
// a list, the last one for ever.
type agent struct {
	mu      sync.Mutex
	answers []string
	last    int   // op type of the last task
	done    []int // op types, queries apart
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		OpType *int `json:"op_type"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	query := procapi.OpType(procapi.Query)
	switch {
	case body.OpType != nil:
		if a.last = *body.OpType; a.last != query {
			a.done = append(a.done, a.last)
		}
		accepted.Reply(w, r)
	case a.last == query:
		result(said(key(1), answered(a.answers[0]))).Reply(w, r)
		a.answers = a.answers[min(1, len(a.answers)-1):]
	default:
		result(said(key(1), code(0))).Reply(w, r)
	}
}

// The rules of package fleet, seen through what JOB can tell: what is declared,
// what the agent says, and what is done about it.
func TestReconcile(t *testing.T) {
	t.Parallel()
	const (
		hosted   = hostedInstance
		unhosted = unhostedInstance
		start    = 0
		host     = 3
	)
	tests := map[string]struct {
		ensure  fleet.Ensure
		answers []string
		drift   fleet.Drift
		done    []int
	}{
		"hosted-running":         {fleet.EnsureHosted, []string{`{"pid":42,"isAuto":true}`}, "", nil},
		"hosted-stopped":         {fleet.EnsureHosted, []string{hosted}, "", nil},
		"hosted-unsaid":          {fleet.EnsureHosted, []string{documentedInstance}, "", nil},
		"unhosted":               {fleet.EnsureHosted, []string{unhosted, unhosted, hosted}, fleet.NotRegistered, []int{host}},
		"unhosted-and-back":      {fleet.EnsureHosted, []string{unhosted, hosted}, "", nil},
		"unhosted-running":       {fleet.EnsureRegistered, []string{`{"pid":42,"isAuto":false}`}, fleet.NotRegistered, []int{host}},
		"unhosted-with-a-past":   {fleet.EnsureRegistered, []string{`{"pid":-1,"isAuto":false,"register_time":1600000000}`}, fleet.NotRegistered, []int{host}},
		"registered-unsaid":      {fleet.EnsureRegistered, []string{documentedInstance}, "", nil},
		"stopped-to-be-running":  {fleet.EnsureRunning, []string{hosted}, fleet.NotRunning, []int{start}},
		"unsaid-to-be-running":   {fleet.EnsureRunning, []string{documentedInstance}, fleet.NotRunning, []int{start}},
		"unhosted-to-be-running": {fleet.EnsureRunning, []string{unhosted}, fleet.NotRegistered, []int{host, start}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := &agent{answers: slices.Clone(test.answers)}
			server := httptest.NewServer(told)
			t.Cleanup(server.Close)
			p := quick(t, server.URL).Process(scope, "", operateInfo())
			one := hosts(1)
			want := fleet.Desired{Ensure: test.ensure, HasSpec: true}
			report, err := fleet.Inspect(t.Context(), p, one, want, nil, nil)
			if err != nil || report.Drift[one[0]] != test.drift {
				t.Fatalf("got %v, %v, want drift %q", report.Drift, err, test.drift)
			}
			change := fleet.Change{Order: one}
			switch test.drift {
			case "":
			case fleet.NotRegistered:
				change.Register = one
			default:
				change.Settle = one
			}
			if failures := fleet.NewReconciliation(p, want, change).Run(t.Context()).Failures(); len(failures) > 0 {
				t.Errorf("got %v", failures)
			}
			if diff := cmp.Diff(test.done, told.done); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
		})
	}
}
