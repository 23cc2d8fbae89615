package bkapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// printed is a value in every way in which a log, a panic or a test may show it.
func printed(t *testing.T, value any) string {
	t.Helper()
	var text bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%20v"} {
		fmt.Fprintf(&text, verb+"\n", value)
		fmt.Fprintf(&text, verb+"\n", struct{ Field any }{value})
	}
	encoded, err := json.Marshal(map[string]any{"value": value})
	if err != nil {
		t.Fatal(err)
	}
	text.Write(encoded)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&text, nil)} {
		slog.New(handler).InfoContext(t.Context(), "value", "value", value)
	}
	return text.String()
}

func TestConfig_printsNoSecret(t *testing.T) {
	t.Parallel()
	cfg := testConfig("https://paas.example.com")
	cfg.AppSecret, cfg.Token, cfg.AccessToken = canary+"1", canary+"2", canary+"3"
	text := printed(t, cfg) + printed(t, &cfg)
	if found := canaryIn(text); len(found) > 0 {
		t.Errorf("found %q in: %s", found, text)
	}
	if !strings.Contains(text, "https://paas.example.com") {
		t.Errorf("nothing of use in: %s", text)
	}

	// The control: the same fields without the methods.
	type bare bkapi.Config
	if found := canaryIn(printed(t, bare(cfg))); len(found) < 3 {
		t.Errorf("found only %q of a configuration that hides nothing", found)
	}

	client := newClient(t, func() bkapi.Config { cfg.Token, cfg.AccessToken, cfg.Username = "", "", "admin"; return cfg }())
	text = printed(t, client)
	if found := canaryIn(text); len(found) > 0 || strings.Contains(text, "99 97 110 97 114 121") {
		t.Errorf("found %q in: %s", found, text)
	}
}
