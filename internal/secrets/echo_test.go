// Package secrets puts secrets into every setting and every answer of the platform. It looks for them in
// everything that is printed, logged or stored in state.
package secrets

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
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

func TestMain(m *testing.M) { providertest.Main(m) }

// echoPlace has the faults that make a platform echo a text, and the call in which the provider meets them.
type echoPlace struct {
	faults func(echo string) []simulator.Fault
	meet   func(p *providertest.Protocol, ctx context.Context) string
}

func one(fault func(echo string) simulator.Fault) func(string) []simulator.Fault {
	return func(echo string) []simulator.Fault { return []simulator.Fault{fault(echo)} }
}

// echoPlaces are the parts of an answer in which a platform may echo something. The tests of package bkapi cover
// those that any answer has; two of them are here.
var echoPlaces = map[string]echoPlace{
	"message": {one(func(echo string) simulator.Fault {
		return simulator.Fault{EnvelopeCode: new(1306201), EnvelopeMessage: echo}
	}), (*providertest.Protocol).CachedStatus},
	"error-page": {one(func(echo string) simulator.Fault {
		return simulator.Fault{HTTPStatus: 500, Header: map[string]string{"Content-Type": "text/html"}, Body: echo}
	}), (*providertest.Protocol).CachedStatus},
	"host-message": {one(func(echo string) simulator.Fault {
		return simulator.Fault{Op: new(simulator.OpStart), Code: new(65535), Message: echo}
	}), started},
	"host-message-of-query": {one(func(echo string) simulator.Fault {
		return simulator.Fault{Op: new(simulator.OpQuery), Code: new(126), Message: echo}
	}), (*providertest.Protocol).LiveStatus},
	"host-without-result": {one(func(echo string) simulator.Fault {
		return simulator.Fault{API: "get_proc_operate_result_v2", ExtraKeys: map[string]any{providertest.Address(1) + ":web:nginx": echo}}
	}), started},
	"content": {one(func(echo string) simulator.Fault {
		return simulator.Fault{Op: new(simulator.OpQuery), Code: new(0), Apply: true, Content: echo}
	}), (*providertest.Protocol).LiveStatus},
	"version": {one(func(echo string) simulator.Fault {
		return simulator.Fault{Op: new(simulator.OpQuery), Code: new(0), Apply: true, Content: map[string]any{
			"process": []any{map[string]any{"instance": []any{map[string]any{"pid": 42, "isAuto": true, "version": echo}}}},
		}}
	}), (*providertest.Protocol).LiveStatus},
	"task": {func(echo string) []simulator.Fault {
		return []simulator.Fault{{API: "operate_proc_v2", TaskID: &echo}, {API: "get_proc_operate_result_v2", EnvelopeCode: new(7)}}
	}, started},
}

var gateways = []providertest.Face{providertest.FaceESB, providertest.FaceGateway}

// Whatever a platform echoes, in any place and spelling, no secret of the provider is in a
// diagnostic, in state, or in the log.
//
// Promised in logs.md: The provider's own credentials are shown as `***`, also where they come
// back percent-encoded, as entities, with escapes or in the wrong encoding.
func TestSecrets_areNotEchoed(t *testing.T) {
	t.Parallel()
	identities := map[providertest.Face]struct{ attribute, secret string }{
		providertest.FaceESB: {"token", canary.Token}, providertest.FaceGateway: {"access_token", canary.AccessToken},
	}
	for place := range echoPlaces {
		for _, face := range providertest.Through(t, place, gateways) {
			t.Run(string(face)+"/"+place, func(t *testing.T) {
				t.Parallel()
				gateway, identity := bkapi.Gateway(face), identities[face]
				sim, p := newSecretive(t, gateway, map[string]any{"app_secret": canary.Secret, identity.attribute: identity.secret})
				for _, secret := range []string{canary.Secret, identity.secret} {
					for spelling, echo := range echoes(secret) {
						text := echoed(sim, p, place, canary.Witness+" "+echo)
						providertest.Check(t, strings.Contains(text, canary.Witness),
							"%s: the echo has not come through, so this proves nothing: %s", spelling, text)
						for _, found := range canary.In(text) {
							t.Errorf("%s: found in: %s", spelling, found)
						}
					}
				}
			})
		}
	}
}

func newSecretive(t *testing.T, gateway bkapi.Gateway, secrets map[string]any) (*providertest.Sim, *providertest.Protocol) {
	t.Helper()
	sim := providertest.NewSim(t)
	sim.AppSecret, _ = secrets["app_secret"].(string)
	sim.Token, _ = secrets["token"].(string)
	sim.AccessToken, _ = secrets["access_token"].(string)
	settings := sim.Settings()
	maps.Copy(settings, map[string]any{"gateway": string(gateway), "username": nil, "max_retries": 1})
	maps.Copy(settings, secrets)
	p := providertest.NewProtocol(t)
	if said := p.Configure(settings); said != "" {
		t.Fatal(said)
	}
	return sim, p
}

// echoed returns all that the provider outputs if a platform echoes a text at a place.
func echoed(s *providertest.Sim, p *providertest.Protocol, place, echo string) string {
	defer s.ClearFaults()
	for _, fault := range echoPlaces[place].faults(echo) {
		s.Inject(fault)
	}
	var log providertest.LogBuffer
	said := echoPlaces[place].meet(p, tflogtest.RootLogger(p.T.Context(), &log))
	if logged := log.String(); strings.Contains(logged, "calling API") {
		return said + logged
	}
	p.T.Error("nothing was logged")
	return said
}

// started starts a process and returns everything that is reported.
func started(p *providertest.Protocol, ctx context.Context) string { //nolint:revive // in the order of the method expressions beside it
	progress, end := p.Invoke(ctx, providertest.ActionType, providertest.Invocation("start", 1, nil))
	return strings.Join(append(progress, end), "\n")
}

// echoes returns spellings in which a platform may echo what it was sent: one of each kind that the documentation names, and
// one truncated in a dump. The tests of package bkapi have all of them.
func echoes(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	python := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", "é", `\u00e9`).Replace(string(quoted))
	return map[string]string{
		"plain":        secret,
		"page":         "<html><body>" + html.EscapeString(secret) + "</body></html>",
		"page-python":  "<pre>" + strings.ReplaceAll(html.EscapeString(python), "&#34;", "&quot;") + "</pre>",
		"url-twice":    "q=" + url.QueryEscape(url.QueryEscape(secret)),
		"latin-1-read": strings.ReplaceAll(secret, "é", "\uFFFD"),
		"dump":         fmt.Sprintf(`{"bk_app_secret": %s, "bk_username": "admin"}`, python),
		"dump-cut-off": `{"bk_app_secret": "` + secret[:len(canary.Begin)+2],
	}
}

// everythingIn reads every file of a directory, and the files in zip archives, such as plans.
func everythingIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	read := func(name string, files fs.FS, path string) string {
		data, err := fs.ReadFile(files, path)
		providertest.NoError(t, err)
		texts[name] = string(data)
		return texts[name]
	}
	providertest.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data := read(path, os.DirFS(dir), path)
		archive, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
		if err != nil {
			return nil //nolint:nilerr // not a zip archive
		}
		for _, member := range archive.File {
			read(path+"/"+member.Name, archive, member.Name)
		}
		return nil
	}))
	return texts
}

// The search finds each of the spellings that the tests in this package want to be absent.
func TestSecrets_areFoundInEverySpelling(t *testing.T) {
	t.Parallel()
	for name, echo := range echoes(canary.Secret) {
		providertest.Check(t, len(canary.In("some text"+echo+"and more")) > 0, "not found as %s: %s", name, echo)
	}
}

// steering are characters that control a terminal or reverse a line.
var steering = map[string]string{
	"escape":    "\x1b[2Jshown",
	"title":     "\x1b]0;shown\a",
	"delete":    "shown\b\x7f",
	"c1":        "\u009b31mshown\u0085",
	"c1-bytes":  "\x9b31mshown",
	"bidi":      "\u202eshown\u2066",
	"invisible": "\u200bshown\ufeff",
}

// steers returns the control characters in a text. Line ends and tabs are the provider's own.
func steers(text string) string {
	return strings.Map(func(char rune) rune {
		if char == '\n' || char == '\t' || unicode.IsPrint(char) {
			return -1
		}
		return char
	}, text)
}

var redirected = echoPlace{one(func(echo string) simulator.Fault {
	return simulator.Fault{HTTPStatus: 302, Header: map[string]string{"Location": "http://" + echo + ".example.com/"}}
}), (*providertest.Protocol).CachedStatus}

// keptPlaces are attributes that keep part of a platform's answer in state.
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

var running = func() map[string]any {
	config := providertest.HostedConfigOf(providertest.HostsOf(1))
	config["ensure"] = "running"
	return config
}()

// No control characters from a platform reach a terminal: not in diagnostics, state or the log.
//
// Promised in logs.md: Control characters are left out, so that nothing quoted can steer a terminal.
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

// wantNotSteered makes a platform send each text, and checks the output.
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
		// A redirect target that is not a URL is not quoted.
		if !strings.Contains(said, "shown") && !strings.Contains(said, "its target is not a URL") {
			t.Errorf("%s: the text is not in the output, so this proves nothing: %q", name, said)
		}
		providertest.Same(t, fmt.Sprintf("%s: it steers in %q", name, said), "", steers(said))
	}
}

// applied returns the diagnostics of a create, a refresh and a destroy, and the state between them.
func applied(p *providertest.Protocol, typ string, config map[string]any) string {
	core := p.CoreOf(typ, &providertest.Kept{})
	_, made := core.Apply(config)
	kept := fmt.Sprint(providertest.Plain(p.T, core.State))
	seen := core.Refresh()
	_, gone := core.Apply(nil)
	return providertest.DiagnosticsText(slices.Concat(made, seen, gone)) + kept
}
