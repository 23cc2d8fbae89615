package reference_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// No object takes a deadline that is over before it begins.
func TestTimeouts_ahead(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	validateResource := func(name string, config *tfprotov6.DynamicValue) string {
		resp, err := p.Server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: name, Config: config})
		p.Fine(err, nil)
		return providertest.DiagnosticsText(resp.Diagnostics)
	}
	validateDataSource := func(name string, config *tfprotov6.DynamicValue) string {
		resp, err := p.Server.ValidateDataResourceConfig(t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: name, Config: config})
		p.Fine(err, nil)
		return providertest.DiagnosticsText(resp.Diagnostics)
	}
	validateAction := func(name string, config *tfprotov6.DynamicValue) string {
		resp, err := p.Server.ValidateActionConfig(t.Context(), &tfprotov6.ValidateActionConfigRequest{ActionType: name, Config: config})
		p.Fine(err, nil)
		return providertest.DiagnosticsText(resp.Diagnostics)
	}
	tried := 0
	check := func(name string, schema *tfprotov6.Schema, validate func(string, *tfprotov6.DynamicValue) string) {
		object, _ := schema.ValueType().(tftypes.Object)
		limits, ok := object.AttributeTypes["timeouts"].(tftypes.Object)
		if !ok {
			return
		}
		for limit := range limits.AttributeTypes {
			tried++
			for _, over := range []string{"0s", "-1m", "soon"} {
				config := p.Dynamic(schema, map[string]any{"timeouts": map[string]any{limit: over}})
				if said := validate(name, config); !strings.Contains(said, "Attribute timeouts."+limit) || !strings.Contains(said, over) {
					t.Errorf("%s: timeouts.%s = %q is let in: %s", name, limit, over, said)
				}
			}
		}
	}
	for name, schema := range p.Schema.ResourceSchemas {
		check(name, schema, validateResource)
	}
	for name, schema := range p.Schema.DataSourceSchemas {
		check(name, schema, validateDataSource)
	}
	for name, schema := range p.Schema.ActionSchemas {
		check(name, schema.Schema, validateAction)
	}
	if want := 2*4 + 2*3 + 5 + 2; tried != want {
		t.Errorf("%d deadlines were tried, want %d", tried, want)
	}
}
