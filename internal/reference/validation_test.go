package reference_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// Values just inside and just outside the valid range.
func TestValidation_edges(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	for name, c := range map[string]struct {
		at      []string // within spec, the attribute last
		taken   []any
		refused []any
		said    string
	}{
		"user": {[]string{"identity", "user"}, []any{"r", "root", providertest.NotKnown{}}, []any{""}, "Attribute spec.identity.user: the value is empty; it must be an account, such as root."},
		"cpu":  {[]string{"resource", "cpu"}, []any{1, 100, providertest.NotKnown{}}, []any{-1, 0, 100.5}, "Attribute spec.resource.cpu: the value must be more than 0 and at most 100 percent of the whole machine; got "},
		"md5": {
			[]string{"configmap"},
			[]any{
				[]any{map[string]any{"md5": "0123456789abcdef0123456789abcdef"}}, []any{map[string]any{"md5": "0123456789ABCDEF0123456789ABCDEF"}},
				[]any{map[string]any{"md5": providertest.NotKnown{}}}, []any{map[string]any{}}, []any{map[string]any{"path": "", "md5": ""}},
			},
			[]any{
				[]any{map[string]any{"md5": "0123456789abcdef0123456789abcde"}}, []any{map[string]any{"md5": "0123456789abcdef0123456789abcdef0"}},
				[]any{map[string]any{"md5": "0123456789abcdef0123456789abcdeg"}}, []any{map[string]any{"md5": " "}},
			},
			"must be 32 hexadecimal characters",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			validate := func(value any) providertest.Diagnostics {
				config := providertest.FaceESB.Reference("./start.sh", 1)
				object, _ := config["spec"].(map[string]any)
				for _, step := range c.at[:len(c.at)-1] {
					object, _ = object[step].(map[string]any)
				}
				object[c.at[len(c.at)-1]] = value
				return p.CoreOf(providertest.HostedType, &providertest.Kept{}).Validate(config)
			}
			for _, value := range c.taken {
				if said := validate(value); len(said) > 0 {
					t.Errorf("%v: %s", value, said)
				}
			}
			for _, value := range c.refused {
				if said := validate(value); len(said) != 1 || !strings.Contains(said.String(), c.said) {
					t.Errorf("%v: %s", value, said)
				}
			}
		})
	}
}

// Only a permanent process can be kept running. Its kind must be set. If it is not, or is unknown, no
// diagnostic mentions running.
func TestValidation_keptRunning(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	const resident, required = "Only a resident process", "spec.monitor_policy.auto_type"
	for name, c := range map[string]struct {
		face providertest.Face
		kind any
		said string // "" for none
	}{
		"periodic":     {providertest.FaceESB, 0, resident},
		"resident":     {providertest.FaceESB, 1, ""},
		"one-shot":     {providertest.FaceESB, 2, resident},
		"not-set":      {providertest.FaceESB, nil, required},
		"unknown":      {providertest.FaceESB, providertest.NotKnown{}, ""},
		"job-periodic": {providertest.FaceJOB, 0, resident},
		"job-resident": {providertest.FaceJOB, 1, ""},
		"job-one-shot": {providertest.FaceJOB, 2, resident},
		"job-not-set":  {providertest.FaceJOB, nil, resident}, // the default is periodic
		"job-unknown":  {providertest.FaceJOB, providertest.NotKnown{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := c.face.Reference("./start.sh", 1)
			config["ensure"] = "running"
			if spec, ok := config["spec"].(map[string]any); ok {
				spec["monitor_policy"] = map[string]any{"auto_type": c.kind}
			} else if process, ok := config["process"].(map[string]any); ok {
				process["type"], process["cycle_time"] = c.kind, 60
			}
			said := p.CoreOf(c.face.TypeName(providertest.OnCreate), &providertest.Kept{}).Validate(config)
			if (c.said == "") != (len(said) == 0) || len(said) > 1 || !strings.Contains(said.String(), c.said) {
				t.Errorf("said: %s", said)
			}
		})
	}
}

// Another scope of JOB is another registration. A business is the same in both forms.
func TestValidation_jobScope(t *testing.T) {
	t.Parallel()
	scope := func(kind, id string) map[string]any { return map[string]any{"type": kind, "id": id} }
	for name, c := range map[string]struct {
		scope, biz any // instead of the scope biz 2
		want       providertest.PlanKind
	}{
		"as-it-was":        {scope("biz", "2"), nil, providertest.PlanNothing},
		"older-spelling":   {nil, 2, providertest.PlanUpdate},
		"another-business": {scope("biz", "3"), nil, providertest.PlanReplace},
		"older-and-other":  {nil, 3, providertest.PlanReplace},
		"set-of-the-same":  {scope("biz_set", "2"), nil, providertest.PlanReplace},
		"not-known":        {scope("biz", "2"), nil, providertest.PlanReplace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceJOB)).CoreOf("bk_job_hosted_process", &providertest.Kept{})
			config := providertest.FaceJOB.Reference("./start.sh", 1)
			resource.Applied(config)
			config["scope"], config["bk_biz_id"] = c.scope, c.biz
			if name == "not-known" {
				config["scope"] = map[string]any{"type": "biz", "id": providertest.NotKnown{}}
			}
			if plan, said := resource.Plan(config); plan.Action != c.want || said.Failed() {
				t.Errorf("%s, want %s; said: %s", plan.Action, c.want, said)
			}
		})
	}
}

// If no command is set, they were probably misspelt, even if the agent needs none.
func TestValidation_noCommands(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	for name, c := range map[string]struct {
		ensure   string
		commands map[string]any
		severity string
		said     string
	}{
		"registered":       {"registered", map[string]any{}, "warning", "Attribute spec.control: nothing is set in it, so it has no effect."},
		"registered-start": {"registered", map[string]any{"start_cmd": "./start.sh"}, "", ""},
		"hosted":           {"hosted", map[string]any{}, "error", "Attribute spec.control.start_cmd: the agent runs this command to revive a hosted process"},
		"hosted-start":     {"hosted", map[string]any{"start_cmd": "./start.sh"}, "warning", "Attribute spec.control.stop_cmd: the agent runs this command to stop a process that exceeds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := providertest.FaceESB.Reference("./start.sh", 1)
			config["ensure"] = c.ensure
			config["spec"].(map[string]any)["control"] = c.commands //nolint:forcetypeassert // it is made so
			if said := p.CoreOf(providertest.HostedType, &providertest.Kept{}).Validate(config); said.Severity() != c.severity || !strings.Contains(said.String(), c.said) {
				t.Errorf("said: %s", said)
			}
		})
	}
}

// max_retries has a lower and an upper bound.
func TestProvider_maxRetries(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	for retries, taken := range map[int]bool{-1: false, 0: true, 100: true, 101: false} {
		resp, err := p.Server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{
			Config: p.Dynamic(p.Schema.Provider, map[string]any{"max_retries": retries}),
		})
		if err != nil {
			t.Fatal(err)
		}
		said := providertest.DiagnosticsText(resp.Diagnostics)
		if taken != (said == "") || (!taken && !strings.Contains(said, "Attribute max_retries value must be between 0 and 100, got: ")) {
			t.Errorf("%d: %s", retries, said)
		}
	}
}

// No object accepts a deadline of zero.
func TestTimeouts_ahead(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	tried := 0
	check := func(name string, schema *tfprotov6.Schema, validate func(string, map[string]any) string) {
		object, _ := schema.ValueType().(tftypes.Object)
		limits, ok := object.AttributeTypes["timeouts"].(tftypes.Object)
		if !ok {
			return
		}
		for limit := range limits.AttributeTypes {
			tried++
			for _, over := range []string{"0s", "-1m", "soon"} {
				if said := validate(name, map[string]any{"timeouts": map[string]any{limit: over}}); !strings.Contains(said, "Attribute timeouts."+limit) || !strings.Contains(said, over) {
					t.Errorf("%s: timeouts.%s = %q is let in: %s", name, limit, over, said)
				}
			}
		}
	}
	for name, schema := range p.Schema.ResourceSchemas {
		check(name, schema, func(name string, config map[string]any) string {
			return p.CoreOf(name, &providertest.Kept{}).Validate(config).String()
		})
	}
	for name, schema := range p.Schema.DataSourceSchemas {
		check(name, schema, func(name string, config map[string]any) string { return p.ValidateData(name, config).String() })
	}
	for name, schema := range p.Schema.ActionSchemas {
		check(name, schema.Schema, p.ValidateAction)
	}
	if want := 2*4 + 2*3 + 6 + 2; tried != want {
		t.Errorf("%d deadlines were tried, want %d", tried, want)
	}
}
