package secrets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/canary"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// steering is what makes a terminal do something, or turns a line round.
var steering = map[string]string{
	"escape":    "\x1b[2Jshown",
	"title":     "\x1b]0;shown\a",
	"delete":    "shown\b\x7f",
	"c1":        "\u009b31mshown\u0085",
	"c1-bytes":  "\x9b31mshown",
	"bidi":      "\u202eshown\u2066",
	"invisible": "\u200bshown\ufeff",
}

// steers are the characters of a text that are not to be seen. Line ends and tabs are
// the provider's own.
func steers(text string) string {
	return strings.Map(func(char rune) rune {
		if char == '\n' || char == '\t' || unicode.IsPrint(char) {
			return -1
		}
		return char
	}, text)
}

// redirected is where a target is named.
var redirected = echoPlace{one(func(echo string) simulator.Fault {
	return simulator.Fault{HTTPStatus: 302, Header: map[string]string{"Location": "http://" + echo + ".example.com/"}}
}), (*providertest.Protocol).CachedStatus}

// keptPlaces are where something of what a platform says is kept in state.
var keptPlaces = map[string]struct {
	faults func(echo string) []simulator.Fault
	typ    string
	config map[string]any
}{
	"registration": {one(func(echo string) simulator.Fault {
		return simulator.Fault{Code: new(65535), Message: echo}
	}), providertest.HostedType, running},
	"out-of-sync": {func(echo string) []simulator.Fault {
		return []simulator.Fault{
			{Op: new(simulator.OpStart), Code: new(65535), Message: echo}, {Op: new(simulator.OpQuery), Code: new(126), Message: echo},
		}
	}, providertest.HostedType, running},
	"failed-hosts": {one(func(echo string) simulator.Fault {
		return simulator.Fault{Op: new(simulator.OpStart), Code: new(65535), Message: echo}
	}), "bk_process_operation", providertest.Invocation("start", 1, nil)},
}

// running is a process that is to run.
var running = func() map[string]any {
	config := providertest.HostedConfigOf(providertest.HostsOf(1))
	config["ensure"] = "running"
	return config
}()

// What a platform says reaches nobody's terminal with the means to steer it: not what
// is said, not state, and not the log.
//
// Promised in logs.md: Control characters are left out, so that nothing quoted can steer a
// terminal.
func TestTerminal_isNotSteered(t *testing.T) {
	t.Parallel()
	places := maps.Clone(echoPlaces)
	places["redirect"] = redirected
	for name, place := range places {
		for _, face := range providertest.Through(t, name, gateways) {
			t.Run(string(face)+"/"+name, func(t *testing.T) {
				t.Parallel()
				wantNotSteered(t, face, place.faults, func(p *providertest.Protocol) string { return place.meet(p, p.Context()) })
			})
		}
	}
	for name, place := range keptPlaces {
		for _, face := range providertest.Through(t, name, gateways) {
			t.Run(string(face)+"/"+name, func(t *testing.T) {
				t.Parallel()
				wantNotSteered(t, face, place.faults, func(p *providertest.Protocol) string { return applied(p, place.typ, place.config) })
			})
		}
	}
}

// wantNotSteered has a platform say each text, and looks at what comes out.
func wantNotSteered(t *testing.T, face providertest.Face, faults func(string) []simulator.Fault, meet func(*providertest.Protocol) string) {
	t.Helper()
	sim, p := newSecretive(t, bkapi.Gateway(face), map[string]any{"app_secret": "another", "token": "and another"})
	for name, text := range steering {
		for _, fault := range faults(canary.Witness + text) {
			sim.Inject(fault)
		}
		var log providertest.LogBuffer
		p.Until = tflogtest.RootLogger(t.Context(), &log)
		said := meet(p) + log.String()
		sim.ClearFaults()
		// A target that is no URL is not quoted.
		if !strings.Contains(said, "shown") && !strings.Contains(said, "its target is not a URL") {
			t.Errorf("%s: it has not come through, so this proves nothing: %q", name, said)
		}
		if found := steers(said); found != "" {
			t.Errorf("%s: %q is in %q", name, found, said)
		}
	}
}

// applied is what is said of a resource while it is made, looked at and taken away, and
// what is kept of it meanwhile.
func applied(p *providertest.Protocol, typ string, config map[string]any) string {
	core := p.CoreOf(typ, &providertest.Kept{})
	_, made := core.Apply(config)
	kept := fmt.Sprint(providertest.Plain(p.T, core.State))
	seen := core.Refresh()
	_, gone := core.Apply(nil)
	return providertest.DiagnosticsText(slices.Concat(made, seen, gone)) + kept
}
