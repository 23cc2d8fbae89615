package bkapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

func TestClient_retryTable(t *testing.T) {
	t.Parallel()
	for _, row := range retryTable() {
		t.Run(strings.ReplaceAll(row.what, " ", "-"), func(t *testing.T) {
			t.Parallel()
			for _, step := range row.steps {
				checkRetryRow(t, row, step, query, row.repeatable)
				checkRetryRow(t, row, step, operate, row.otherwise)
			}
		})
	}
}

func checkRetryRow(t *testing.T, row retryRow, step http.HandlerFunc, api bkapi.API, word string) {
	t.Helper()
	steps := []http.HandlerFunc{ok(`{}`), step}
	if row.cold {
		steps = steps[1:]
	}
	s := newServer(t, steps...)
	cfg := testConfig(s.URL)
	if row.prepare != nil {
		row.prepare(t, &cfg, s)
	}
	client := newClient(t, cfg)
	if !row.cold {
		if _, err := client.Call(t.Context(), query, nil, nil); err != nil {
			t.Fatalf("before: %v", err)
		}
	}
	client.Close()
	if row.leaves != nil {
		row.leaves(s)
	}
	before := len(s.received())

	var out struct{ TaskID string }
	_, err := client.Call(t.Context(), api, nil, &out)

	failure := failureOf(t, err)
	want := map[string]int{"no": 1, "once": 2, "yes": 3}[word]
	if failure.Attempts != want {
		t.Errorf("%s: %d tries, want %d: %v", api.Name, failure.Attempts, want, err)
	}
	if got := len(s.received()) - before; !row.unsent && got != want {
		t.Errorf("%s: server got %d requests, want %d", api.Name, got, want)
	}
	if failure.Stranger != (row.cold && row.kind != bkapi.KindTLS) {
		t.Errorf("%s: Stranger is %t: %v", api.Name, failure.Stranger, err)
	}
	if row.kind != "" && failure.Kind != row.kind {
		t.Errorf("%s: kind %q, want %q: %v", api.Name, failure.Kind, row.kind, err)
	}
	if failure.Sent == row.unsent {
		t.Errorf("%s: Sent is %t: %v", api.Name, failure.Sent, err)
	}
	if got := bkapi.IsOutcomeUnknown(err); got != (row.unknown && !api.Repeatable) {
		t.Errorf("%s: IsOutcomeUnknown is %t: %v", api.Name, got, err)
	}
	if got := bkapi.MayHaveActed(err); got != row.unknown {
		t.Errorf("%s: MayHaveActed is %t: %v", api.Name, got, err)
	}
	if got, want := bkapi.IsTransient(err), word != "no"; got != want {
		t.Errorf("%s: IsTransient is %t: %v", api.Name, got, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: taken for the end of the operation: %v", api.Name, err)
	}
}

func TestClient_retryStopsWhenContextEnds(t *testing.T) {
	t.Parallel()
	for _, api := range []bkapi.API{query, operate} {
		t.Run(api.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			s := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
				cancel()
				<-r.Context().Done()
			})
			_, err := newClient(t, testConfig(s.URL)).Call(ctx, api, nil, nil)
			if failure := failureOf(t, err); failure.Kind != bkapi.KindCanceled || !failure.Sent {
				t.Fatalf("got %v, want a KindCanceled that was sent", err)
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("errors.Is does not find context.Canceled in %v", err)
			}
			if got := len(s.received()); got != 1 {
				t.Errorf("server got %d requests, want 1", got)
			}
			if bkapi.IsTransient(err) || bkapi.IsOutcomeUnknown(err) == api.Repeatable {
				t.Errorf("IsTransient %t, IsOutcomeUnknown %t", bkapi.IsTransient(err), bkapi.IsOutcomeUnknown(err))
			}
		})
	}
}

func TestClient_retryKeepsErrorWhenDeadlineIsBeforeTheWait(t *testing.T) {
	t.Parallel()
	for _, api := range []bkapi.API{query, operate} {
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		started := time.Now()
		_, err := newClient(t, testConfig(s.URL)).Call(ctx, api, nil, nil)
		if failure := failureOf(t, err); failure.Status != http.StatusTooManyRequests || failure.Attempts != 1 {
			t.Errorf("%s: got %v, want the 429 after one try", api.Name, err)
		}
		if took := time.Since(started); took > 30*time.Second {
			t.Errorf("%s: gave up after %s only", api.Name, took)
		}
	}
}

func TestClient_retryEndsWithSuccess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		api    bkapi.API
		first  http.HandlerFunc
		resent bool
	}{
		"after-lost-answer":           {query, reset, true},
		"after-bad-gateway":           {query, reply(http.StatusBadGateway, ""), true},
		"after-format":                {query, reply(http.StatusOK, `{"result":tr`), true},
		"query-after-429":             {query, reply(http.StatusTooManyRequests, ""), false},
		"operation-after-429":         {operate, reply(http.StatusTooManyRequests, ""), false},
		"operation-after-rate-limit":  {operate, ok(`null,"code":1306429,"result":false`), false},
		"query-after-rate-limit":      {query, ok(`null,"code":1306429,"result":false`), false},
		"query-after-backend-timeout": {query, ok(`null,"code":1306201,"result":false`), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.first, ok(`{"task_id":"T1"}`))
			var out struct {
				TaskID string `json:"task_id"`
			}
			got, err := newClient(t, testConfig(s.URL)).Call(t.Context(), test.api, nil, &out)
			if err != nil || out.TaskID != "T1" {
				t.Fatalf("got %+v and %v", out, err)
			}
			if got.Attempts != 2 || got.Resent != test.resent {
				t.Errorf("got %+v, want 2 tries and Resent %t", got, test.resent)
			}

			posts := s.received()
			if a, b := posts[0].header.Get("X-Bkapi-Request-Id"), posts[1].header.Get("X-Bkapi-Request-Id"); a != b || a == "" {
				t.Errorf("tries of one call have request ids %q and %q", a, b)
			}
			if diff := cmp.Diff(posts[0].body, posts[1].body); diff != "" {
				t.Errorf("the second try sent another body: %s", diff)
			}
		})
	}
}

func TestClient_retryWaitIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newServer(t, reply(http.StatusServiceUnavailable, `{"code":7,"message":"restarting"}`))
	cfg := testConfig(s.URL)
	cfg.RetryWaitMin, cfg.RetryWaitMax = time.Hour, time.Hour
	// The warning of a retry is written right before its wait.
	cfg.Logger = onWarning(func() { cancel(errors.New("user pressed Ctrl-C")) })

	_, err := newClient(t, cfg).Call(ctx, query, nil, nil)
	failure := failureOf(t, err)
	if failure.Kind != bkapi.KindCanceled || failure.Status != http.StatusServiceUnavailable {
		t.Fatalf("got %v, want a KindCanceled with the status of the attempt before", err)
	}
	if !failure.Sent || failure.Attempts != 1 || !bkapi.HasCode(err, 7) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v", failure)
	}
	for _, want := range []string{"user pressed Ctrl-C", "restarting"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

// A clear answer to the second try does not undo what the first may have done.
func TestClient_retryRemembersWhatMayHaveBeenDone(t *testing.T) {
	t.Parallel()
	for first, want := range map[int]bool{http.StatusBadGateway: true, http.StatusTooManyRequests: false} {
		tries := 0
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			if tries++; tries == 1 {
				w.WriteHeader(first)
				return
			}
			w.WriteHeader(http.StatusForbidden)
		})
		_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, nil)
		if got := bkapi.MayHaveActed(err); got != want || tries != 2 {
			t.Errorf("%d and then 403: MayHaveActed is %t after %d tries: %v", first, got, tries, err)
		}
	}
}
