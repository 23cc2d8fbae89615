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
	for name, test := range map[string]struct{ in, out any }{
		"not-an-object":       {in: []int{1}},
		"not-encodable":       {in: map[string]any{"f": func() {}}},
		"out-not-a-pointer":   {out: map[string]any{}},
		"out-a-typed-nil-ptr": {out: (*struct{})(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, ok(`{}`))
			_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, test.in, test.out)
			if failure := failureOf(t, err); failure.Kind != bkapi.KindRequest || failure.Sent || failure.Attempts != 0 {
				t.Errorf("got %+v", failure)
			}
			if len(s.received()) != 0 {
				t.Error("something was sent")
			}
		})
	}
}

func TestClient_out(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data  string
		want  map[string]int
		fails bool
	}{
		"replaced-as-a-whole":  {`{"new":2}`, map[string]int{"new": 2}, false},
		"null":                 {`null`, map[string]int{"old": 1}, false},
		"empty-string":         {`""`, map[string]int{"old": 1}, false},
		"untouched-by-failure": {`{"old":2,"odd":"text"}`, map[string]int{"old": 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, ok(test.data))
			out := map[string]int{"old": 1}
			_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, &out)
			var mismatch *json.UnmarshalTypeError
			if errors.As(err, &mismatch) != test.fails || (err != nil) != test.fails {
				t.Errorf("got %v, want a mismatch: %t", err, test.fails)
			}
			if diff := cmp.Diff(test.want, out); diff != "" {
				t.Errorf("out (-want +got): %s", diff)
			}
		})
	}
}

func TestClient_requestID(t *testing.T) {
	t.Parallel()
	inHeader := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Bkapi-Request-Id", "from-header")
		reply(http.StatusOK, `{"code":5,"request_id":"from-body"}`)(w, r)
	}
	for name, test := range map[string]struct {
		step http.HandlerFunc
		want string
	}{
		"header-wins":  {inHeader, "from-header"},
		"body":         {reply(http.StatusOK, `{"code":5,"request_id":"from-body"}`), "from-body"},
		"number":       {reply(http.StatusOK, `{"code":5,"request_id":17}`), "17"},
		"status":       {reply(http.StatusForbidden, `{"code":5,"request_id":"from-body"}`), "from-body"},
		"null-is-ours": {reply(http.StatusOK, `{"code":5,"request_id":null}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.step)
			_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, nil)
			want := test.want
			if want == "" {
				want = s.received()[0].header.Get("X-Bkapi-Request-Id")
			}
			if failure := failureOf(t, err); failure.RequestID != want {
				t.Errorf("got %v, want request id %q", err, want)
			}
		})
	}
}

// TestClient_operationIsNotResentByTransport tests net/http itself, which repeats requests if a
// kept-alive connection dies under them.
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

// How a call fails, and whether it had been sent by then.
func TestClient_fails(t *testing.T) {
	t.Parallel()
	to := func(target string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", target)
			w.WriteHeader(status)
		}
	}
	impatient := func(cfg *bkapi.Config) { cfg.MaxRetries, cfg.RequestTimeout = 0, 20*time.Millisecond }
	https := func(cfg *bkapi.Config) { cfg.Endpoint = strings.Replace(cfg.Endpoint, "http:", "https:", 1) }
	for name, test := range map[string]struct {
		step     http.HandlerFunc
		set      func(*bkapi.Config)
		time     time.Duration // of the operation, 0 if it was canceled before
		want     bkapi.Error   // Kind, Status, Sent, Attempts and Err
		says     string
		requests int
	}{
		"canceled-before":     {ok(`{}`), nil, 0, bkapi.Error{Kind: bkapi.KindCanceled, Err: context.Canceled}, "", 0},
		"request-takes-long":  {hang, impatient, time.Minute, bkapi.Error{Kind: bkapi.KindLost, Sent: true, Attempts: 1}, "no answer within 20ms", 1},
		"body-takes-long":     {headersThenHang, impatient, time.Minute, bkapi.Error{Kind: bkapi.KindLost, Status: 200, Sent: true, Attempts: 1}, "no answer within 20ms", 1},
		"http-behind-https":   {ok(`{}`), https, time.Minute, bkapi.Error{Kind: bkapi.KindTLS, Attempts: 1}, "", 0},
		"redirect-to-no-url":  {to("http://[::login", 302), nil, time.Minute, bkapi.Error{Kind: bkapi.KindRedirect, Status: 302, Sent: true}, "redirect not followed: its target is not a URL", 1},
		"redirect-to-nothing": {to("", 302), nil, time.Minute, bkapi.Error{Kind: bkapi.KindStatus, Status: 302, Sent: true}, "", 1},
		"multiple-choices":    {reply(300, ""), nil, time.Minute, bkapi.Error{Kind: bkapi.KindStatus, Status: 300, Sent: true}, "", 1},
		"not-modified":        {reply(304, ""), nil, time.Minute, bkapi.Error{Kind: bkapi.KindStatus, Status: 304, Sent: true}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.step)
			cfg := testConfig(s.URL)
			if test.set != nil {
				test.set(&cfg)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			switch test.time {
			case 0:
				cancel()
			default:
				ctx, cancel = context.WithTimeout(ctx, test.time)
				defer cancel()
			}
			_, err := newClient(t, cfg).Call(ctx, query, nil, nil)
			got := failureOf(t, err)
			if got.Kind != test.want.Kind || got.Status != test.want.Status || got.Sent != test.want.Sent {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if test.want.Attempts != 0 && got.Attempts != test.want.Attempts || test.want.Err != nil && !errors.Is(err, test.want.Err) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if n := len(s.received()); n != test.requests || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v after %d requests, want %q after %d", err, n, test.says, test.requests)
			}
		})
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

// object decodes a JSON object. An empty text is no object.
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
