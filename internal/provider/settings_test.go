package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
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
		if !found {
			t.Errorf("%s: the provider has no setting %q", name, row.setting)
		}
		if row.value == nil {
			continue
		}
		if row.env != "" && !strings.HasSuffix(description, "Environment: `"+row.env+"`.") {
			t.Errorf("%s: the description does not end with the environment variable %s: %s", row.setting, row.env, description)
		}
		looked[row.setting] = looked[row.setting] || slices.ContainsFunc(badSettings, func(bad badSetting) bool { return bad.of == name }) && (row.env != "") == strings.Contains(description, "Environment: ")
	}
	for name := range described {
		if !looked[name] {
			t.Errorf("%s has no row with a value, a bad value and its environment variable, if it has one", name)
		}
	}
}

// look is the effect of values of a row's setting, nil for none.
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

// noSettingsInEnvironment removes the provider's variables, for tests that set some of them.
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
	if len(s.requests) > 0 {
		t.Errorf("%d requests were sent", len(s.requests))
	}
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
			if len(s.requests) > 0 {
				t.Errorf("%d requests were sent", len(s.requests))
			}
		})
	}
}
