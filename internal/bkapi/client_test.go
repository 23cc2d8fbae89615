package bkapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

func TestClient_credentials(t *testing.T) {
	t.Parallel()

	users := map[string]struct {
		set  func(*bkapi.Config)
		name string
	}{
		"username":     {func(*bkapi.Config) {}, "bk_username"},
		"token":        {func(cfg *bkapi.Config) { cfg.Username, cfg.Token = "", "admin" }, "bk_token"},
		"access-token": {func(cfg *bkapi.Config) { cfg.Username, cfg.AccessToken = "", "admin" }, "access_token"},
	}
	for _, gateway := range bkapi.Gateways() {
		for user, test := range users {
			t.Run(string(gateway)+"/"+user, func(t *testing.T) {
				t.Parallel()

				s := newServer(t, ok(`{}`))
				cfg := testConfig(s.URL)
				cfg.Gateway = gateway
				test.set(&cfg)
				in := map[string]any{"op_type": 2.0}
				if _, err := newClient(t, cfg).Call(t.Context(), query, in, nil); err != nil {
					t.Fatal(err)
				}

				got := s.received()[0]
				creds := map[string]any{"bk_app_code": "bk-test", "bk_app_secret": "s3cr3t-of-the-app", test.name: "admin"}
				wantBody, wantHeader := map[string]any{"op_type": 2.0}, map[string]any(nil)
				if gateway == bkapi.ESB {
					for name, value := range creds {
						wantBody[name] = value
					}
				} else {
					wantHeader = creds
				}
				if diff := cmp.Diff(wantBody, object(t, got.body)); diff != "" {
					t.Errorf("body (-want +got): %s", diff)
				}
				if diff := cmp.Diff(wantHeader, object(t, []byte(got.header.Get("X-Bkapi-Authorization")))); diff != "" {
					t.Errorf("header (-want +got): %s", diff)
				}
			})
		}
	}
}

func TestClient_request(t *testing.T) {
	t.Parallel()

	s := newServer(t, ok(`{}`))
	cfg := testConfig(s.URL + "/esb/")
	cfg.TenantID, cfg.UserAgent = "system", "terraform-provider-bk/1.2.3"
	client := newClient(t, cfg)

	for range 2 {
		if _, err := client.Call(t.Context(), query, nil, nil); err != nil {
			t.Fatal(err)
		}
	}

	posts := s.received()
	got := posts[0]
	if got.method != http.MethodPost || got.path != "/esb/api/c/compapi/v2/gse/get_proc_status_v2/" {
		t.Errorf("got %s %s", got.method, got.path)
	}
	for name, want := range map[string]string{
		"Content-Type":   "application/json",
		"X-Bk-Tenant-Id": "system",
		"User-Agent":     "terraform-provider-bk/1.2.3",
		"Cookie":         "",
	} {
		if value := got.header.Get(name); value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
	first, second := got.header.Get("X-Bkapi-Request-Id"), posts[1].header.Get("X-Bkapi-Request-Id")
	if len(first) != 32 || first == second {
		t.Errorf("request ids of two calls are %q and %q", first, second)
	}
}

func TestClient_requestNotBuilt(t *testing.T) {
	t.Parallel()

	tests := map[string]struct{ in, out any }{
		"not-an-object":       {in: []int{1}},
		"not-encodable":       {in: map[string]any{"f": func() {}}},
		"out-not-a-pointer":   {out: map[string]any{}},
		"out-a-typed-nil-ptr": {out: (*struct{})(nil)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newServer(t, ok(`{}`))
			_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, test.in, test.out)
			var failure *bkapi.Error
			if !errors.As(err, &failure) || failure.Kind != bkapi.KindRequest || failure.Sent || failure.Attempts != 0 {
				t.Errorf("got %+v", err)
			}
			if len(s.received()) != 0 {
				t.Error("something was sent")
			}
		})
	}
}

func TestClient_out(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		data string
		want map[string]int
	}{
		"replaced-as-a-whole": {`{"new":2}`, map[string]int{"new": 2}},
		"null":                {`null`, map[string]int{"old": 1}},
		"empty-string":        {`""`, map[string]int{"old": 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newServer(t, ok(test.data))
			out := map[string]int{"old": 1}
			if _, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, &out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, out); diff != "" {
				t.Errorf("out (-want +got): %s", diff)
			}
		})
	}

	t.Run("untouched-by-failure", func(t *testing.T) {
		t.Parallel()

		s := newServer(t, ok(`{"old":2,"odd":"text"}`))
		out := map[string]int{"old": 1}
		_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, &out)
		var mismatch *json.UnmarshalTypeError
		if !errors.As(err, &mismatch) || out["old"] != 1 {
			t.Errorf("got %v and %v", out, err)
		}
	})
}

func TestClient_requestID(t *testing.T) {
	t.Parallel()

	inHeader := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Bkapi-Request-Id", "from-header")
		reply(http.StatusOK, `{"code":5,"request_id":"from-body"}`)(w, r)
	}
	tests := map[string]struct {
		step http.HandlerFunc
		want string
	}{
		"header-wins":  {inHeader, "from-header"},
		"body":         {reply(http.StatusOK, `{"code":5,"request_id":"from-body"}`), "from-body"},
		"number":       {reply(http.StatusOK, `{"code":5,"request_id":17}`), "17"},
		"status":       {reply(http.StatusForbidden, `{"code":5,"request_id":"from-body"}`), "from-body"},
		"null-is-ours": {reply(http.StatusOK, `{"code":5,"request_id":null}`), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newServer(t, test.step)
			_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, nil)
			want := test.want
			if want == "" {
				want = s.received()[0].header.Get("X-Bkapi-Request-Id")
			}
			var failure *bkapi.Error
			if !errors.As(err, &failure) || failure.RequestID != want {
				t.Errorf("got %v, want request id %q", err, want)
			}
		})
	}
}

func TestClient_timeoutSaysHowLong(t *testing.T) {
	t.Parallel()

	for _, step := range []http.HandlerFunc{hang, headersThenHang} {
		cfg := testConfig(newServer(t, step).URL)
		cfg.MaxRetries, cfg.RequestTimeout = 0, 20*time.Millisecond
		_, err := newClient(t, cfg).Call(t.Context(), query, nil, nil)
		if err == nil || !strings.Contains(err.Error(), "no answer within 20ms") {
			t.Errorf("got %v", err)
		}
	}
}

// TestClient_operationIsNotResentByTransport watches net/http itself: a kept-alive
// connection that dies under a request is what it repeats requests for.
func TestClient_operationIsNotResentByTransport(t *testing.T) {
	t.Parallel()

	for _, step := range []http.HandlerFunc{reset, raw("")} {
		s := newServer(t, ok(`{}`), step, ok(`{}`))
		client := newClient(t, testConfig(s.URL))
		if _, err := client.Call(t.Context(), operate, nil, nil); err != nil {
			t.Fatal(err)
		}
		_, err := client.Call(t.Context(), operate, nil, nil)

		posts := s.received()
		if len(posts) != 2 || posts[0].remote != posts[1].remote {
			t.Errorf("got %d requests, want 2 on one connection", len(posts))
		}
		if !bkapi.IsOutcomeUnknown(err) {
			t.Errorf("got %v, want an unknown outcome", err)
		}
	}
}

func TestClient_canceledBeforeCall(t *testing.T) {
	t.Parallel()

	s := newServer(t, ok(`{}`))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newClient(t, testConfig(s.URL)).Call(ctx, operate, nil, nil)

	var failure *bkapi.Error
	if !errors.As(err, &failure) || failure.Kind != bkapi.KindCanceled || failure.Sent || len(s.received()) != 0 {
		t.Errorf("got %+v, want a KindCanceled that was not sent", err)
	}
}

func TestClient_deadlineIsTheOperations(t *testing.T) {
	t.Parallel()

	s := newServer(t, hang)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := newClient(t, testConfig(s.URL)).Call(ctx, query, nil, nil)

	var failure *bkapi.Error
	if !errors.As(err, &failure) || failure.Kind != bkapi.KindCanceled || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a KindCanceled for the deadline", err)
	}
}

func TestClient_redirectTargetGetsNothing(t *testing.T) {
	t.Parallel()

	for _, gateway := range bkapi.Gateways() {
		for _, api := range []bkapi.API{query, operate} {
			for _, status := range []int{301, 302, 303, 307, 308} {
				target := newServer(t, ok(`{}`))
				s := newServer(t, redirectTo(target.URL+"/login?from=here", status))
				cfg := testConfig(s.URL)
				cfg.Gateway = gateway
				_, err := newClient(t, cfg).Call(t.Context(), api, nil, nil)

				if got := len(target.received()); got != 0 {
					t.Errorf("%s %s %d: the target got %d requests", gateway, api.Name, status, got)
				}
				if got := len(s.received()); got != 1 {
					t.Errorf("%s %s %d: the endpoint got %d requests", gateway, api.Name, status, got)
				}
				if err == nil || !strings.Contains(err.Error(), target.URL) || strings.Contains(err.Error(), "from=") {
					t.Errorf("%s %s %d: got %v, want the target's host named", gateway, api.Name, status, err)
				}
			}
		}
	}
}

// A redirect to what is no URL is a redirect all the same.
func TestClient_redirectToNoURL(t *testing.T) {
	t.Parallel()

	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://[::login")
		w.WriteHeader(http.StatusFound)
	})
	_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, nil)

	var failure *bkapi.Error
	if !errors.As(err, &failure) || failure.Kind != bkapi.KindRedirect || failure.Status != http.StatusFound ||
		!strings.Contains(err.Error(), "redirect not followed: its target is not a URL") {
		t.Errorf("got %v, want a redirect", err)
	}
	if got := len(s.received()); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
}

// A 3xx that names no target is a status like any other.
func TestClient_redirectWithoutTarget(t *testing.T) {
	t.Parallel()

	for _, status := range []int{300, 302, 304} {
		s := newServer(t, reply(status, ""))
		_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, nil)

		var failure *bkapi.Error
		if !errors.As(err, &failure) || failure.Kind != bkapi.KindStatus || failure.Status != status {
			t.Errorf("%d: got %v, want it as a status", status, err)
		}
		if got := len(s.received()); got != 1 {
			t.Errorf("%d: %d requests, want 1", status, got)
		}
	}
}

// object decodes a JSON object, and nothing for an empty text.
func object(t *testing.T, text []byte) map[string]any {
	t.Helper()

	if len(text) == 0 {
		return nil
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatalf("decoding %q: %v", text, err)
	}

	return members
}
