package bkapi_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

func TestClient_tls(t *testing.T) {
	t.Parallel()
	ca := func(cfg *bkapi.Config, s *server) {
		cfg.CACert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	}
	for name, test := range map[string]struct {
		versions *tls.Config
		set      func(*bkapi.Config, *server)
		fails    bool
	}{
		"known-ca": {&tls.Config{}, ca, false},
		"insecure": {&tls.Config{}, func(cfg *bkapi.Config, _ *server) { cfg.InsecureSkipVerify = true }, false},
		"wrong-host": {&tls.Config{}, func(cfg *bkapi.Config, s *server) {
			ca(cfg, s)
			cfg.Endpoint = strings.Replace(cfg.Endpoint, "127.0.0.1", "localhost", 1)
		}, true},
		//nolint:gosec // a server that is too old
		"tls-1.1": {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, ca, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUnstartedServer(t, ok(`{}`))
			s.TLS = test.versions
			s.StartTLS()
			cfg := testConfig(s.URL)
			test.set(&cfg, s)
			_, err := newClient(t, cfg).Call(t.Context(), query, nil, nil)
			if got := len(s.received()); (got == 0) != test.fails || (err != nil) != test.fails {
				t.Errorf("got %v after %d requests", err, got)
			}
			if !test.fails {
				return
			}
			if failure := failureOf(t, err); failure.Kind != bkapi.KindTLS || failure.Sent {
				t.Errorf("got %+v, want a KindTLS and nothing sent", failure)
			}
		})
	}
}

func TestClient_boundsAnswer(t *testing.T) {
	t.Parallel()
	const limit, blanks = 256 << 10, 64 << 20
	written := func(w io.Writer) (n int) {
		for block := []byte(strings.Repeat(" ", 64<<10)); n < blanks; n += len(block) {
			if _, err := w.Write(block); err != nil {
				return n
			}
		}
		return n
	}
	for name, step := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			if n := written(w); n > blanks/2 { // bytes beyond the limit are in the sockets' buffers
				t.Errorf("%d bytes were read of an endless answer", n)
			}
		},
		"gzip-bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			written(packed)
			_ = packed.Close()
		},
		"at-limit": ok(`"` + strings.Repeat("x", limit-len(`{"result":true,"code":0,"message":"","data":""}`)) + `"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(newServer(t, step).URL)
			cfg.MaxResponseBytes, cfg.MaxRetries = limit, 0
			_, err := newClient(t, cfg).Call(t.Context(), query, nil, nil)
			if name == "at-limit" {
				if err != nil {
					t.Errorf("got %v", err)
				}
			} else if failure := failureOf(t, err); failure.Kind != bkapi.KindFormat {
				t.Errorf("got %v, want a KindFormat", err)
			}
		})
	}
}

func TestClient_noSlotIsHeldDuringBackoff(t *testing.T) {
	t.Parallel()
	limits := bkapi.NewLimits(1, 0)
	other := testConfig(newServer(t, ok(`{}`)).URL)
	other.Limits = limits
	otherClient := newClient(t, other)

	var otherErr error
	cfg := testConfig(newServer(t, reply(http.StatusTooManyRequests, ""), ok(`{}`)).URL)
	cfg.Limits = limits
	cfg.Logger = onWarning(func() { // between the two tries
		_, otherErr = otherClient.Call(t.Context(), query, nil, nil)
	})
	if _, err := newClient(t, cfg).Call(t.Context(), query, nil, nil); err != nil {
		t.Error(err)
	}
	if otherErr != nil {
		t.Errorf("call during the backoff of another: %v", otherErr)
	}
}

func TestClient_rateLimitBeforeDeadline(t *testing.T) {
	t.Parallel()
	cfg := testConfig(newServer(t, ok(`{}`)).URL)
	cfg.Limits = bkapi.NewLimits(1, 0.001)
	client := newClient(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Call(ctx, operate, nil, nil); err != nil {
		t.Fatal(err)
	}
	_, err := client.Call(ctx, operate, nil, nil)
	if failure := failureOf(t, err); failure.Kind != bkapi.KindCanceled || failure.Sent || bkapi.IsOutcomeUnknown(err) {
		t.Errorf("got %+v, want a KindCanceled that was not sent", err)
	}
}
