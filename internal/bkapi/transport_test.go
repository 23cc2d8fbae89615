package bkapi_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
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
		server *tls.Config
		set    func(*bkapi.Config, *server)
		want   bkapi.Kind
	}{
		"unknown-ca": {&tls.Config{}, func(*bkapi.Config, *server) {}, bkapi.KindTLS},
		"known-ca":   {&tls.Config{}, ca, ""},
		"insecure":   {&tls.Config{}, func(cfg *bkapi.Config, _ *server) { cfg.InsecureSkipVerify = true }, ""},
		"wrong-host": {&tls.Config{}, func(cfg *bkapi.Config, s *server) {
			ca(cfg, s)
			cfg.Endpoint = strings.Replace(cfg.Endpoint, "127.0.0.1", "localhost", 1)
		}, bkapi.KindTLS},
		//nolint:gosec // a server that is too old
		"tls-1.1": {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, ca, bkapi.KindTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUnstartedServer(t, ok(`{}`))
			s.TLS = test.server
			s.StartTLS()
			cfg := testConfig(s.URL)
			cfg.MaxRetries = 0
			test.set(&cfg, s)
			_, err := newClient(t, cfg).Call(t.Context(), query, nil, nil)

			var failure *bkapi.Error
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v", err)
			case test.want != "" && (!errors.As(err, &failure) || failure.Kind != test.want || failure.Sent):
				t.Errorf("got %+v, want kind %q and nothing sent", err, test.want)
			}
			if got := len(s.received()); (got == 0) != (test.want != "") {
				t.Errorf("server got %d requests", got)
			}
		})
	}
}

func TestClient_boundsAnswer(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10
	var written atomic.Int64
	endless := func(w http.ResponseWriter, _ *http.Request) {
		block := []byte(strings.Repeat(" ", 64<<10))
		for range 64 << 20 / len(block) {
			n, err := w.Write(block)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	}
	bomb := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		block := []byte(strings.Repeat(" ", 64<<10))
		for range 16 * limit / len(block) {
			if _, err := packed.Write(block); err != nil {
				return
			}
		}
		_ = packed.Close()
	}
	atLimit := ok(`"` + strings.Repeat("x", limit-len(`{"result":true,"code":0,"message":"","data":""}`)) + `"`)

	for name, test := range map[string]struct {
		step http.HandlerFunc
		fits bool
	}{
		"endless":   {endless, false},
		"gzip-bomb": {bomb, false},
		"at-limit":  {atLimit, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(newServer(t, test.step).URL)
			cfg.MaxResponseBytes = limit
			cfg.MaxRetries = 0
			_, err := newClient(t, cfg).Call(t.Context(), query, nil, nil)

			var failure *bkapi.Error
			switch {
			case test.fits && err != nil:
				t.Errorf("got %v", err)
			case !test.fits && (!errors.As(err, &failure) || failure.Kind != bkapi.KindFormat):
				t.Errorf("got %v, want a KindFormat", err)
			}

			// Bytes written beyond the limit are in the sockets' buffers.
			if got := written.Load(); got > 32<<20 {
				t.Errorf("%d bytes were read of an endless answer", got)
			}
		})
	}
}

func TestClient_concurrencyLimit(t *testing.T) {
	t.Parallel()
	const calls = 6
	for name, test := range map[string]struct {
		limits *bkapi.Limits
		want   int64
	}{
		"two":  {bkapi.NewLimits(2, 0), 2},
		"none": {nil, calls}, // the control: without a bound all run at once
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Each answer waits until the permitted number of requests has arrived.
			var inFlight, highest atomic.Int64
			meet := newBarrier(int(test.want))
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				now := inFlight.Add(1)
				for seen := highest.Load(); now > seen; seen = highest.Load() {
					if highest.CompareAndSwap(seen, now) {
						break
					}
				}
				meet.wait()
				inFlight.Add(-1)
				ok(`{}`)(w, r)
			})
			cfg := testConfig(s.URL)
			cfg.Limits = test.limits
			// GSE and JOB have their own clients and share one bound.
			clients := []*bkapi.Client{newClient(t, cfg), newClient(t, cfg)}

			var group sync.WaitGroup
			for i := range calls {
				group.Go(func() {
					if _, err := clients[i%2].Call(t.Context(), query, nil, nil); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if got := highest.Load(); got != test.want {
				t.Errorf("%d requests at once, want %d", got, test.want)
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
