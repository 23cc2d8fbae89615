package provider

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// managed is one resource that Terraform manages, with what it keeps from one run
// to the next: for tests of many runs, for which a Terraform of its own is too slow.
type managed struct {
	*protocol
	name    string
	state   tftypes.Value
	private []byte
}

func (p *protocol) managed(name string) *managed {
	return &managed{protocol: p, name: name, state: tftypes.NewValue(p.schema.ResourceSchemas[name].ValueType(), nil)}
}

// apply refreshes, plans and applies, as `terraform apply` does, and gives what was
// said. It counts as a change if the plan had something to do.
func (m *managed) apply(config map[string]any) (said string, changed bool) {
	m.t.Helper()
	refreshed, ok := m.refresh()
	if !ok {
		return refreshed, false
	}
	said, changed = m.applyUnrefreshed(config)
	return refreshed + said, changed
}

// applyUnrefreshed is `terraform apply -refresh=false`.
func (m *managed) applyUnrefreshed(config map[string]any) (said string, changed bool) {
	m.t.Helper()
	var (
		typ      = m.schema.ResourceSchemas[m.name].ValueType()
		wanted   = valueOf(typ, config)
		proposed = m.proposed(wanted)
	)
	plan, err := m.server.PlanResourceChange(m.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: m.name, PriorState: m.raw(m.state), ProposedNewState: m.raw(proposed), Config: m.raw(wanted), PriorPrivate: m.private,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	said = diagnosticsText(plan.Diagnostics)
	if failed(plan.Diagnostics) {
		return said, false
	}
	if len(plan.RequiresReplace) > 0 && !m.state.IsNull() {
		m.t.Fatalf("it is to be replaced because of %v", plan.RequiresReplace)
	}
	if planned, err := plan.PlannedState.Unmarshal(typ); err != nil || planned.Equal(m.state) {
		m.fine(err, nil)
		return said, false
	}
	resp, err := m.server.ApplyResourceChange(m.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: m.name, PriorState: m.raw(m.state), PlannedState: plan.PlannedState, Config: m.raw(wanted), PlannedPrivate: plan.PlannedPrivate,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.keep(resp.NewState, resp.Private)
	return said + diagnosticsText(resp.Diagnostics), true
}

// destroy is `terraform destroy -refresh=false`.
func (m *managed) destroy() (said string) {
	m.t.Helper()
	nothing := tftypes.NewValue(m.state.Type(), nil)
	resp, err := m.server.ApplyResourceChange(m.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: m.name, PriorState: m.raw(m.state), PlannedState: m.raw(nothing), Config: m.raw(nothing), PlannedPrivate: m.private,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.keep(resp.NewState, resp.Private)
	return diagnosticsText(resp.Diagnostics)
}

func (m *managed) refresh() (said string, ok bool) {
	m.t.Helper()
	if m.state.IsNull() {
		return "", true
	}
	resp, err := m.server.ReadResource(m.t.Context(), &tfprotov6.ReadResourceRequest{TypeName: m.name, CurrentState: m.raw(m.state), Private: m.private})
	if err != nil {
		m.t.Fatal(err)
	}
	if failed(resp.Diagnostics) {
		return diagnosticsText(resp.Diagnostics), false
	}
	m.keep(resp.NewState, resp.Private)
	return diagnosticsText(resp.Diagnostics), true
}

// proposed is a configuration with what the provider computed before in the places
// that it leaves to it.
func (m *managed) proposed(config tftypes.Value) tftypes.Value {
	m.t.Helper()
	if m.state.IsNull() {
		return config
	}
	var prior, values map[string]tftypes.Value
	m.fine(m.state.As(&prior), nil)
	m.fine(config.As(&values), nil)
	values = maps.Clone(values)
	for _, attribute := range m.schema.ResourceSchemas[m.name].Block.Attributes {
		if attribute.Computed && values[attribute.Name].IsNull() {
			values[attribute.Name] = prior[attribute.Name]
		}
	}
	return tftypes.NewValue(config.Type(), values)
}

func (m *managed) raw(v tftypes.Value) *tfprotov6.DynamicValue {
	m.t.Helper()
	value, err := tfprotov6.NewDynamicValue(v.Type(), v)
	m.fine(err, nil)
	return &value
}

func (m *managed) keep(state *tfprotov6.DynamicValue, private []byte) {
	m.t.Helper()
	value, err := state.Unmarshal(m.schema.ResourceSchemas[m.name].ValueType())
	m.fine(err, nil)
	m.state, m.private = value, private
}

// reasons is what state says of hosts in one of its maps.
func (m *managed) reasons(attribute string) map[string]string {
	m.t.Helper()
	reasons := make(map[string]string)
	state, _ := plain(m.t, m.state).(map[string]any)
	byKey, _ := state[attribute].(map[string]any)
	for key, reason := range byKey {
		text, ok := reason.(string)
		if !ok {
			m.t.Fatalf("%s of %s is %v", attribute, key, reason)
		}
		reasons[key] = text
	}
	return reasons
}

func failed(diags []*tfprotov6.Diagnostic) bool {
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return true
		}
	}
	return false
}
