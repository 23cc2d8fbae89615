package providertest

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Core is as much of Terraform as a resource sees of it: refresh, plan, apply and
// what is kept in state between them. It is there for tests with hundreds of runs,
// for which a CLI is too slow; what it does on errors is what Terraform was seen to
// do (TestAccFaultMatrix takes the same cases through a real one).
type Core struct {
	*Protocol
	typ string
	*Kept
	// between, if not nil, happens between a plan and its apply.
	Between func()
	// fresh, if not nil, starts the provider that applies: Terraform has one for a plan
	// and another for its apply, which knows nothing of what the first has learnt.
	Fresh func() *Protocol
}

// Kept is what state has of one resource. Several runs, each with a provider of
// its own, hand it on.
type Kept struct {
	State    tftypes.Value // null where there is none
	Private  []byte
	Identity *tfprotov6.ResourceIdentityData
	Tainted  bool
}

// PlanKind is what a plan is going to do.
type PlanKind string

const (
	PlanNothing PlanKind = "no changes"
	PlanCreate  PlanKind = "create"
	PlanUpdate  PlanKind = "update"
	PlanReplace PlanKind = "replace"
	PlanDestroy PlanKind = "destroy"
)

// Changes tells whether a plan was made and had something to do.
func (k PlanKind) Changes() bool { return k != "" && k != PlanNothing }

// CoreOf runs one resource, from what is kept of it.
func (p *Protocol) CoreOf(typ string, k *Kept) *Core {
	p.T.Helper()
	if k.State.Type() == nil {
		k.State = tftypes.NewValue(p.Schema.ResourceSchemas[typ].ValueType(), nil)
	}
	return &Core{Protocol: p, typ: typ, Kept: k}
}

func (c *Core) wire(v tftypes.Value) *tfprotov6.DynamicValue {
	c.T.Helper()
	value, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		c.T.Fatal(err)
	}
	return &value
}

func (c *Core) Unwire(v *tfprotov6.DynamicValue) tftypes.Value {
	c.T.Helper()
	value, err := v.Unmarshal(c.Schema.ResourceSchemas[c.typ].ValueType())
	if err != nil {
		c.T.Fatal(err)
	}
	return value
}

// Refresh reads the resource. Where that fails, state stays what it was.
func (c *Core) Refresh() Diagnostics {
	c.T.Helper()
	if c.State.IsNull() {
		return nil
	}
	resp, err := c.Server.ReadResource(c.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: c.typ, CurrentState: c.wire(c.State), Private: c.Private, CurrentIdentity: c.Identity,
	})
	if err != nil {
		c.T.Fatal(err)
	}
	if diags := Diagnostics(resp.Diagnostics); diags.Failed() {
		return diags
	}
	c.State, c.Private, c.Identity = c.Unwire(resp.NewState), resp.Private, resp.NewIdentity
	return resp.Diagnostics
}

// corePlan is a plan that can be applied.
type corePlan struct {
	Action           PlanKind
	config, proposed tftypes.Value
	planned          *tfprotov6.DynamicValue
	private          []byte
	identity         *tfprotov6.ResourceIdentityData
}

// Plan refreshes and compares with a configuration, nil for a destroy.
func (c *Core) Plan(config map[string]any) (corePlan, Diagnostics) {
	c.T.Helper()
	refreshed := c.Refresh()
	if refreshed.Failed() {
		return corePlan{}, refreshed
	}
	p, said := c.planUnrefreshed(config)
	return p, append(refreshed, said...)
}

// planUnrefreshed is plan with -refresh=false. What is tainted is planned as if it
// were not there, and then replaced.
func (c *Core) planUnrefreshed(config map[string]any) (corePlan, Diagnostics) {
	c.T.Helper()
	c.Tainted = c.Tainted && !c.State.IsNull()
	var (
		schema  = c.Schema.ResourceSchemas[c.typ]
		nothing = tftypes.NewValue(schema.ValueType(), nil)
		p       = corePlan{config: nothing}
		prior   = *c.Kept
	)
	if config != nil {
		p.config = ValueOf(schema.ValueType(), config)
		if c.Tainted {
			prior = Kept{State: nothing}
		}
	}
	p.proposed = proposedState(c.T, schema, prior.State, p.config)
	resp, err := c.Server.PlanResourceChange(c.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: c.typ, PriorState: c.wire(prior.State), ProposedNewState: c.wire(p.proposed), Config: c.wire(p.config),
		PriorPrivate: prior.Private, PriorIdentity: prior.Identity,
	})
	if err != nil {
		c.T.Fatal(err)
	}
	if diags := Diagnostics(resp.Diagnostics); diags.Failed() {
		return corePlan{}, diags
	}
	p.planned, p.private, p.identity = resp.PlannedState, resp.PlannedPrivate, resp.PlannedIdentity
	planned := c.Unwire(resp.PlannedState)
	switch {
	case planned.IsNull() && c.State.IsNull():
		p.Action = PlanNothing
	case planned.IsNull():
		p.Action = PlanDestroy
	case c.Tainted || (len(resp.RequiresReplace) > 0 && !c.State.IsNull()):
		p.Action = PlanReplace
	case c.State.IsNull():
		p.Action = PlanCreate
	case planned.Equal(c.State):
		p.Action = PlanNothing
	default:
		p.Action = PlanUpdate
	}
	return p, resp.Diagnostics
}

// proposedState is the configuration with what is computed taken from the prior
// state, if there is one.
func proposedState(tb testing.TB, schema *tfprotov6.Schema, prior, config tftypes.Value) tftypes.Value {
	tb.Helper()
	if config.IsNull() {
		return config
	}
	configured, was := AttributesOf(tb, config), AttributesOf(tb, prior)
	for _, attribute := range schema.Block.Attributes {
		if !attribute.Computed || !configured[attribute.Name].IsNull() {
			continue
		}
		if value, ok := was[attribute.Name]; ok {
			configured[attribute.Name] = value
		}
	}
	return tftypes.NewValue(schema.ValueType(), configured)
}

// AttributesOf are those of an object, none where it is null.
func AttributesOf(tb testing.TB, v tftypes.Value) map[string]tftypes.Value {
	tb.Helper()
	attributes := make(map[string]tftypes.Value)
	if v.IsNull() {
		return attributes
	}
	if err := v.As(&attributes); err != nil {
		tb.Fatal(err)
	}
	return attributes
}

// Apply refreshes, plans and does it.
func (c *Core) Apply(config map[string]any) (PlanKind, Diagnostics) {
	c.T.Helper()
	refreshed := c.Refresh()
	if refreshed.Failed() {
		return "", refreshed
	}
	kind, said := c.ApplyUnrefreshed(config)
	return kind, append(refreshed, said...)
}

// ApplyUnrefreshed is apply with -refresh=false.
func (c *Core) ApplyUnrefreshed(config map[string]any) (PlanKind, Diagnostics) {
	c.T.Helper()
	p, said := c.planUnrefreshed(config)
	switch {
	case said.Failed() || p.Action == PlanNothing:
		return p.Action, said
	case p.Action == PlanReplace:
		destroyed := c.DestroyUnrefreshed()
		if said = append(said, destroyed...); destroyed.Failed() {
			return p.Action, said
		}
		_, created := c.ApplyUnrefreshed(config)
		return p.Action, append(said, created...)
	}
	if c.Between != nil {
		c.Between()
	}
	if c.Fresh != nil {
		until := c.Until
		c.Protocol = c.Fresh()
		c.Until = until
	}
	resp, err := c.Server.ApplyResourceChange(c.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: c.typ, PriorState: c.wire(c.State), PlannedState: p.planned, Config: c.wire(p.config),
		PlannedPrivate: p.private, PlannedIdentity: p.identity,
	})
	if err != nil {
		c.T.Fatal(err)
	}
	applied := Diagnostics(resp.Diagnostics)
	state := c.Unwire(resp.NewState)
	if !applied.Failed() {
		c.consistent(p.planned, state)
	}
	// A replacement that fails to destroy leaves what was tainted as it was.
	c.Tainted = applied.Failed() && (c.Tainted || p.Action == PlanCreate) && !state.IsNull()
	c.State, c.Private, c.Identity = state, resp.Private, resp.NewIdentity
	return p.Action, append(said, applied...)
}

// DestroyUnrefreshed is `terraform destroy -refresh=false`.
func (c *Core) DestroyUnrefreshed() Diagnostics {
	c.T.Helper()
	_, said := c.ApplyUnrefreshed(nil)
	return said
}

// Untaint is `terraform untaint`.
func (c *Core) Untaint() {
	c.T.Helper()
	if !c.Tainted {
		c.T.Error("it is not tainted")
	}
	c.Tainted = false
}

// consistent fails the test where Terraform would speak of an inconsistent result
// after apply.
func (c *Core) consistent(planned *tfprotov6.DynamicValue, state tftypes.Value) {
	c.T.Helper()
	want := c.Unwire(planned)
	if want.IsNull() || state.IsNull() {
		if want.IsNull() != state.IsNull() {
			c.T.Errorf("inconsistent result after apply: planned %s, got %s", want, state)
		}
		return
	}
	got := AttributesOf(c.T, state)
	for name, value := range AttributesOf(c.T, want) {
		if value.IsFullyKnown() && !value.Equal(got[name]) {
			c.T.Errorf("inconsistent result after apply: %s was planned as %s and is %s", name, value, got[name])
		}
	}
	for name, value := range got {
		if !value.IsFullyKnown() {
			c.T.Errorf("inconsistent result after apply: %s is not known", name)
		}
	}
}

// Imports is `terraform import`, which refreshes what was imported.
func (c *Core) Imports(id string) Diagnostics {
	c.T.Helper()
	resp, err := c.Server.ImportResourceState(c.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: c.typ, ID: id})
	if err != nil {
		c.T.Fatal(err)
	}
	if diags := Diagnostics(resp.Diagnostics); diags.Failed() {
		return diags
	}
	imported := resp.ImportedResources[0]
	c.State, c.Private, c.Identity = c.Unwire(imported.State), imported.Private, imported.Identity
	return append(resp.Diagnostics, c.Refresh()...)
}

// Attribute is an attribute of the state as Go has it, nil without a state.
func (c *Core) Attribute(name string) any {
	c.T.Helper()
	value, ok := AttributesOf(c.T, c.State)[name]
	if !ok {
		return nil
	}
	return Plain(c.T, value)
}

// Reasons is what state says of hosts in one of its maps.
func (c *Core) Reasons(attribute string) map[string]string {
	c.T.Helper()
	return Texts(c.Attribute(attribute))
}

// ReadData reads a data source.
func (p *Protocol) ReadData(typ string, config map[string]any) (map[string]any, Diagnostics) {
	p.T.Helper()
	schema := p.Schema.DataSourceSchemas[typ]
	resp, err := p.Server.ReadDataSource(p.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: typ, Config: p.Dynamic(schema, config)})
	if err != nil {
		p.T.Fatal(err)
	}
	if resp.State == nil || Diagnostics(resp.Diagnostics).Failed() {
		return nil, resp.Diagnostics
	}
	values, ok := p.Read(resp.State, schema.ValueType()).(map[string]any)
	if !ok {
		p.T.Fatal("a data source without attributes")
	}
	return values, resp.Diagnostics
}

// Diagnostics are what one run said.
type Diagnostics []*tfprotov6.Diagnostic

func (d Diagnostics) Failed() bool {
	return slices.ContainsFunc(d, func(one *tfprotov6.Diagnostic) bool { return one.Severity == tfprotov6.DiagnosticSeverityError })
}

func (d Diagnostics) String() string { return DiagnosticsText(d) }

// Severity is that of the worst, "" where nothing was said.
func (d Diagnostics) Severity() string {
	switch {
	case d.Failed():
		return "error"
	case len(d) > 0:
		return "warning"
	}
	return ""
}
