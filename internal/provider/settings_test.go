package provider_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Each setting has a row, and each row has a setting.
func TestSettings_everyOneHasARow(t *testing.T) {
	t.Parallel()
	described := make(map[string]string)
	providertest.EachAttribute(providertest.NewProtocol(t).Schema.Provider.Block.Attributes, func(at string, a *tfprotov6.SchemaAttribute) {
		if a.NestedType == nil {
			described[at] = a.Description
		}
	})
	looked := make(map[string]bool)
	for name, row := range settingRows {
		description, found := described[row.setting]
		providertest.Check(t, found, "%s: the provider has no setting %q", name, row.setting)
		if row.value == nil {
			continue
		}
		if row.env != "" && !strings.HasSuffix(description, "Environment: `"+row.env+"`.") {
			t.Errorf("%s: the description does not end with the environment variable %s: %s", row.setting, row.env, description)
		}
		looked[row.setting] = looked[row.setting] || slices.ContainsFunc(badSettings, func(bad badSetting) bool { return bad.of == name }) && (row.env != "") == strings.Contains(description, "Environment: ")
	}
	for name := range described {
		providertest.Check(t, looked[name], "%s has no row with a value, a bad value and its environment variable, if it has one", name)
	}
}

func (row settingRow) look(t *testing.T, attribute any, variable string) string {
	t.Helper()
	s := newSettingScene(t)
	if row.env != "" && variable != "" {
		t.Setenv(row.env, s.places.Replace(variable))
	}
	if faults := s.begin(s.Settings(row.with, map[string]any{row.setting: attribute})); len(faults) > 0 {
		t.Fatal(faults)
	}
	return row.seen(s)
}

func TestSettings_attribute(t *testing.T) {
	t.Parallel()
	for name, row := range settingRows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row.value != nil {
				providertest.Same(t, fmt.Sprint("seen with ", row.value), row.want, row.look(t, row.value, ""))
			}
			if row.byDefault != "" {
				providertest.Same(t, "seen by default", row.byDefault, row.look(t, nil, ""))
			}
			for _, value := range row.fits {
				s := newSettingScene(t)
				if faults := s.begin(s.Settings(row.with, map[string]any{row.setting: value})); len(faults) > 0 {
					t.Errorf("%v: %q", value, faults)
				}
			}
		})
	}
}

// The environment is used for settings that the provider block does not set.
//
//nolint:paralleltest // it sets environment variables
func TestSettings_environment(t *testing.T) {
	noSettingsInEnvironment(t)
	for name, row := range settingRows {
		if row.env == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			providertest.Same(t, "seen with "+row.env, row.envWant, row.look(t, nil, row.envValue))
			providertest.Same(t, "seen with a value and "+row.env, row.want, row.look(t, row.value, row.envValue))
		})
	}
}

// An identity of the provider block takes precedence over any of the environment, so that a token there
// does not clash with a configured user.
//
//nolint:paralleltest // it sets environment variables
func TestSettings_environmentOfAnotherIdentity(t *testing.T) {
	noSettingsInEnvironment(t)
	identities := []string{"username", "token", "access_token"}
	for _, configured := range identities {
		row := settingRows[configured]
		for _, other := range identities {
			t.Setenv(settingRows[other].env, "left-over")
		}
		s := newSettingScene(t)
		faults := s.begin(s.Settings(row.with, map[string]any{"username": nil, configured: row.value}))
		providertest.Same(t, "seen with "+configured, row.want+" []", fmt.Sprint(row.seen(s), " ", faults))
	}
	s := newSettingScene(t)
	want := []string{": Invalid Provider Setting: More than one user identity is set: BK_USERNAME, BK_TOKEN, BK_ACCESS_TOKEN. Set exactly one."}
	providertest.Same(t, "faults where the environment has all", want, s.begin(s.Settings(map[string]any{"username": nil})))
}

func noSettingsInEnvironment(t *testing.T) {
	t.Helper()
	for _, row := range settingRows {
		if row.env != "" {
			t.Setenv(row.env, "")
		}
	}
}

// A plan with unknown settings makes no call. The operation that needs one names what is missing.
func TestSettings_unknown(t *testing.T) {
	t.Parallel()
	for _, row := range settingRows {
		if row.value == nil {
			continue
		}
		t.Run(row.setting, func(t *testing.T) {
			t.Parallel()
			s := newSettingScene(t)
			s.waitsFor(t, row.setting, s.Dynamic(s.Schema.Provider, s.Settings(row.with, map[string]any{row.setting: providertest.NotKnown{}})))
		})
	}
	t.Run("one-label", func(t *testing.T) {
		t.Parallel()
		s := newSettingScene(t)
		s.waitsFor(t, "default_labels", s.Dynamic(s.Schema.Provider, s.Settings(map[string]any{"default_labels": map[string]any{"team": providertest.NotKnown{}}})))
	})
}

func (s *settingScene) waitsFor(t *testing.T, setting string, config *tfprotov6.DynamicValue) {
	t.Helper()
	validated, err := s.Server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
	s.Fine(err, validated.Diagnostics)
	configured, err := s.Server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: config})
	s.Fine(err, configured.Diagnostics)
	if plan, said := s.CoreOf(providertest.HostedType, &providertest.Kept{}).Plan(providertest.HostedConfigOf(providertest.HostsOf(1))); plan.Action != providertest.PlanCreate || len(said) > 0 {
		t.Errorf("planned to %s and said: %s", plan.Action, said)
	}
	want := fmt.Sprintf("ERROR: Provider Not Configured Yet\n\nThe platform has to be called now, but these settings of the provider block are not known "+
		"until apply: %s.\n\nMake this object depend on the resources that they come from (depends_on), apply those first (with -target), or set "+
		"known values.", setting)
	_, said := s.ReadData("bk_process_status", map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(1), "mode": "cached"})
	providertest.Same(t, "said by a call", want, said.String())
	providertest.Check(t, len(s.requests) == 0, "%d requests were sent", len(s.requests))
}

// An invalid setting is reported at its attribute, always in the same words.
func TestSettings_bad(t *testing.T) {
	noSettingsInEnvironment(t)
	for _, bad := range badSettings {
		t.Run(fmt.Sprint(bad.of, "/", bad.value, " ", bad.env), func(t *testing.T) {
			row := settingRows[bad.of]
			if bad.env != "" {
				t.Setenv(row.env, bad.env)
			}
			s := newSettingScene(t)
			providertest.Same(t, "faults", []string{bad.want}, s.begin(s.Settings(row.with, bad.with, map[string]any{row.setting: bad.value})))
			providertest.Check(t, len(s.requests) == 0, "%d requests were sent", len(s.requests))
		})
	}
}

// newCertificate makes a certificate for a server on 127.0.0.1 that vouches for itself, modified by change. It returns its PEM as well.
func newCertificate(t *testing.T, change func(*x509.Certificate)) (served tls.Certificate, text []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	providertest.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	providertest.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func file(t *testing.T, text []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ca.pem")
	providertest.NoError(t, os.WriteFile(name, text, 0o600))
	return name
}

// A server that is not trusted gets no request. The error says why, and what to do. The matrix of faults has a server
// that is not known, and one without TLS.
func TestProvider_trustsServersByTheirCertificate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		trust   string // known or not-checked
		change  func(*x509.Certificate)
		version uint16   // the latest that the server speaks
		want    []string // parts of the error; none if there must be no error
	}{
		"not-checked": {trust: "not-checked"},
		"expired": {
			trust: "known", change: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) },
			want: []string{"certificate has expired or is not yet valid", "Check this machine's clock, or have the certificate renewed"},
		},
		"other-host": {
			trust: "known", change: func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 9)} },
			want: []string{"certificate is valid for 127.0.0.9, not 127.0.0.1", "Use a name in the provider's endpoint that the certificate is valid for"},
		},
		"tls-1.2": {trust: "known", version: tls.VersionTLS12},
		"tls-1.1": {trust: "known", version: tls.VersionTLS11, want: []string{"protocol version", "requires TLS 1.2 or later"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
			server := httptest.NewUnstartedServer(sim)
			t.Cleanup(server.Close)
			server.Config.ErrorLog = providertest.Quiet // it reports the client's errors
			certificate, known := newCertificate(t, test.change)
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: test.version, Certificates: []tls.Certificate{certificate}} //nolint:gosec // a server that is too old
			server.StartTLS()
			settings := map[string]any{"endpoint": "https://" + server.Listener.Addr().String(), "retry_wait_min": "1h", "retry_wait_max": "1h"}
			maps.Copy(settings, map[string]map[string]any{
				"known": {"ca_cert_file": file(t, known)}, "not-checked": {"insecure_skip_verify": true},
			}[test.trust])
			p := providertest.NewProtocol(t)
			warned := p.Configure(credentials(settings))
			if strings.Contains(warned, "WARNING: Certificate Not Verified") != (test.trust == "not-checked") {
				t.Errorf("said at configuration: %q", warned)
			}
			said := p.CachedStatus(t.Context())
			providertest.Says(t, said, test.want...)
			if good := strings.Contains(said, "unregistered_count:1"); good != (len(test.want) == 0) {
				t.Errorf("said %q", said)
			}
			if calls := len(sim.Calls()); (calls == 0) != (len(test.want) > 0) {
				t.Errorf("the server got %d requests", calls)
			}
		})
	}
}

func credentials(settings map[string]any) map[string]any {
	maps.Copy(settings, map[string]any{"app_code": simulator.DefaultAppCode, "app_secret": simulator.DefaultAppSecret, "username": "admin"})
	return settings
}

func TestProvider_wantsCertificatesInTheFile(t *testing.T) {
	t.Parallel()
	served, good := newCertificate(t, nil)
	const noCertificate = "contains no readable certificate; certificates must be in PEM format"
	for name, test := range map[string]struct{ file, want string }{
		"good":      {file(t, good), ""},
		"beside":    {file(t, append([]byte("# the authority of the test\n"), good...)), ""},
		"missing":   {filepath.Join(t.TempDir(), "none.pem"), "no such file"},
		"directory": {t.TempDir(), "is a directory"},
		"empty":     {file(t, nil), noCertificate},
		"der":       {file(t, served.Certificate[0]), noCertificate},
		"key":       {file(t, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: served.Certificate[0]})), noCertificate},
		"cut-short": {file(t, good[:200]), noCertificate},
		"broken":    {file(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})), noCertificate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := providertest.NewProtocol(t).Configure(credentials(map[string]any{"endpoint": "https://127.0.0.1:1", "ca_cert_file": test.file}))
			if test.want == "" {
				providertest.Same(t, "said", "", said)
				return
			}
			providertest.Says(t, said, test.want, test.file)
		})
	}
}
