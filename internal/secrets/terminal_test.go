package secrets

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
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
var redirected = echoPlace{func(echo string) []simulator.Fault {
	return []simulator.Fault{{HTTPStatus: 302, Header: map[string]string{"Location": "http://" + echo + ".example.com/"}}}
}, (*providertest.Protocol).CachedStatus}

// keptPlaces are where something of what a platform says is kept in state.
var keptPlaces = map[string]struct {
	faults func(echo string) []simulator.Fault
	typ    string
	config map[string]any
}{
	"registration": {func(echo string) []simulator.Fault {
		return []simulator.Fault{{Code: new(65535), Message: echo}}
	}, providertest.HostedType, running},
	"out-of-sync": {func(echo string) []simulator.Fault {
		return []simulator.Fault{
			{Op: new(simulator.OpStart), Code: new(65535), Message: echo}, {Op: new(simulator.OpQuery), Code: new(126), Message: echo},
		}
	}, providertest.HostedType, running},
	"failed-hosts": {func(echo string) []simulator.Fault {
		return []simulator.Fault{{Op: new(simulator.OpStart), Code: new(65535), Message: echo}}
	}, "bk_process_operation", providertest.Invocation("start", 1, nil)},
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
	for _, gateway := range bkapi.Gateways() {
		for name, place := range places {
			t.Run(string(gateway)+"/"+name, func(t *testing.T) {
				t.Parallel()
				wantNotSteered(t, gateway, place.faults, func(p *providertest.Protocol) string { return place.meet(p, p.Context()) })
			})
		}
		for name, place := range keptPlaces {
			t.Run(string(gateway)+"/"+name, func(t *testing.T) {
				t.Parallel()
				wantNotSteered(t, gateway, place.faults, func(p *providertest.Protocol) string { return applied(p, place.typ, place.config) })
			})
		}
	}
}

// wantNotSteered has a platform say each text, and looks at what comes out.
func wantNotSteered(t *testing.T, gateway bkapi.Gateway, faults func(string) []simulator.Fault, meet func(*providertest.Protocol) string) {
	t.Helper()
	sim, p := newSecretive(t, gateway, map[string]any{"app_secret": "another", "token": "and another"})
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
	p.T.Helper()
	core := p.CoreOf(typ, &providertest.Kept{})
	_, made := core.Apply(config)
	kept := fmt.Sprint(providertest.Plain(p.T, core.State))
	seen := core.Refresh()
	_, gone := core.Apply(nil)
	return providertest.DiagnosticsText(slices.Concat(made, seen, gone)) + kept
}

// The same through a real CLI, whose own colours are off.
func TestAccTerminal_isNotSteered(t *testing.T) {
	t.Parallel()
	echo := canary.Witness
	for _, text := range steering {
		echo += text
	}
	hosted := providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: `ensure = "registered"`}
	sim, cli := newSecretiveCLI(t, bkapi.ESB)
	configureSwift(cli, hosted.String()) // registering asks the agents first
	cli.Expect(0, "apply", "-auto-approve")
	configureSwift(cli, providertest.OperationConfig{Hosted: hosted, Operation: "start"}.String()+providertest.StatusConfig(providertest.WithSpec)+`
output "statuses" {
  value = data.bk_process_status.test.statuses
}
`)
	sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Hosts: []string{providertest.Address(1)}, Code: new(65535), Message: echo})
	sim.Inject(simulator.Fault{Op: new(simulator.OpQuery), Code: new(0), Apply: true, Content: echo})
	keepOutput(cli, 0, "failing-apply.txt", "apply", "-auto-approve")
	keepOutput(cli, 0, "refresh.txt", "apply", "-refresh-only", "-auto-approve")
	keepOutput(cli, 0, "state.txt", "show")
	sim.ClearFaults()
	sim.Inject(simulator.Fault{HTTPStatus: 500, Header: map[string]string{"Content-Type": echo}, Body: echo})
	keepOutput(cli, 1, "failing-plan.txt", "plan")

	texts := everythingIn(t, cli.Dir)
	for _, name := range []string{"failing-apply.txt", "refresh.txt", "state.txt", "failing-plan.txt", "terraform.tfstate"} {
		if !strings.Contains(texts[name], "shown") {
			t.Errorf("%s does not hold what it should: %q", name, texts[name])
		}
		if found := steers(texts[name]); found != "" {
			t.Errorf("%s: %q is in %q", name, found, texts[name])
		}
	}
	// What Terraform logs itself is quoted; the provider's lines are as they are.
	var lines int
	for line := range bytes.Lines([]byte(texts["trace.log"])) {
		if !providersLine.Match(line) {
			continue
		}
		lines++
		if found := steers(string(line)); found != "" {
			t.Errorf("%q is in the log: %q", found, line)
		}
	}
	if lines == 0 {
		t.Error("the provider has logged nothing")
	}
	if escaped := escapedControl.FindString(texts["terraform.tfstate"]); escaped != "" {
		t.Errorf("%s is in state", escaped)
	}
}

var (
	providersLine  = regexp.MustCompile(`provider\.terraform-provider-bk`)
	escapedControl = regexp.MustCompile(`\\u00[0189][0-9a-f]|\\u20[0-9a-f]{2}|\\ufeff`)
)
