package reference_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// A gate needs a process that keeps running. A gate that compares output needs a command that prints it.
// Unknown values pass.
func TestHealthGate_refused(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	later := providertest.NotKnown{}
	gate := func(output any) map[string]any {
		return map[string]any{"waves": []any{"1"}, "healthy": map[string]any{"stable_for": "1s", "output": output}}
	}
	oneShot := func(config map[string]any) {
		config["spec"].(map[string]any)["monitor_policy"] = map[string]any{"auto_type": 2} //nolint:forcetypeassert // as Reference has it
	}
	for name, c := range map[string]struct {
		by      providertest.Face
		rollout map[string]any
		set     func(config map[string]any)
		says    string
	}{
		"command":        {providertest.FaceESB, gate("ok"), func(config map[string]any) { commandsOf(config)["health_cmd"] = "./health.sh" }, ""},
		"no-command":     {providertest.FaceESB, gate("ok"), nil, "health_cmd prints, which is not set"},
		"command-later":  {providertest.FaceESB, gate("ok"), func(config map[string]any) { commandsOf(config)["health_cmd"] = later }, ""},
		"commands-later": {providertest.FaceESB, gate("ok"), func(config map[string]any) { config["spec"].(map[string]any)["control"] = later }, ""}, //nolint:forcetypeassert // as Reference has it
		"output-later":   {providertest.FaceESB, gate(later), nil, ""},
		"no-output":      {providertest.FaceESB, gate(nil), nil, ""},
		"gate-later":     {providertest.FaceESB, map[string]any{"waves": []any{"1"}, "healthy": later}, oneShot, ""},
		"no-gate":        {providertest.FaceESB, map[string]any{"waves": []any{"1"}}, oneShot, ""},
		"one-shot":       {providertest.FaceESB, gate(nil), oneShot, "only a resident process goes on running"},
		"job":            {providertest.FaceJOB, gate("ok"), nil, "JOB's process has no health_cmd"},
		"job-later":      {providertest.FaceJOB, gate(later), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := c.by.Reference("./start.sh", 2)
			config["operation"], config["rollout"] = "start", c.rollout
			if c.set != nil {
				c.set(config)
			}
			said := p.CoreOf(c.by.TypeName(providertest.OnOperate), &providertest.Kept{}).Validate(config).String()
			if !strings.Contains(said, c.says) || (c.says == "") != (said == "") {
				t.Errorf("said %q", said)
			}
		})
	}
}
