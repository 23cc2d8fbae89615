package providertest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Core simulates Terraform for one resource: refresh, plan, apply, and the state between them. It is for
// tests with hundreds of runs, for which a CLI is too slow. On errors it behaves as was observed of Terraform
// (TestAccFaultMatrix runs the same cases with a real CLI).
type Core struct {
	*Protocol
	typ string
	*Kept
	// Between, if not nil, is called between a plan and its apply.
	Between func()
	// Fresh, if not nil, starts another provider for an apply, as Terraform does. It does not have what the
	// plan's provider has cached.
	Fresh func() *Protocol
	// Notices are the warnings of the last apply that only report what it did to hosts.
	Notices Diagnostics
	// Replacing sets the option -replace.
	Replacing bool
}

// Kept is the state of one resource, which one run passes on to the next. Each run has its own provider.
type Kept struct {
	State    tftypes.Value // null if the resource is not in state
	Private  []byte
	Identity *tfprotov6.ResourceIdentityData
	Tainted  bool
}

// PlanKind is what a plan does to the one resource.
type PlanKind string

// The kinds of plans.
const (
	PlanNothing PlanKind = "no changes"
	PlanCreate  PlanKind = "create"
	PlanUpdate  PlanKind = "update"
	PlanReplace PlanKind = "replace"
	PlanDestroy PlanKind = "destroy"
)

// Changes reports whether there is a plan and it changes something.
func (k PlanKind) Changes() bool { return k != "" && k != PlanNothing }

// CoreOf returns a Core for one resource of a type. k is its state, a zero Kept if it does not exist yet.
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
	NoError(c.T, err)
	return &value
}

// Unwire decodes a value of the resource's type.
func (c *Core) Unwire(v *tfprotov6.DynamicValue) tftypes.Value {
	c.T.Helper()
	value, err := v.Unmarshal(c.Schema.ResourceSchemas[c.typ].ValueType())
	NoError(c.T, err)
	return value
}

// Refresh reads the resource. If that fails, the state does not change.
func (c *Core) Refresh() Diagnostics {
	c.T.Helper()
	if c.State.IsNull() {
		return nil
	}
	resp, err := c.Server.ReadResource(c.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: c.typ, CurrentState: c.wire(c.State), Private: c.Private, CurrentIdentity: c.Identity,
	})
	NoError(c.T, err)
	if diags := Diagnostics(resp.Diagnostics); diags.Failed() {
		return diags
	}
	c.State, c.Private, c.Identity = c.Unwire(resp.NewState), resp.Private, resp.NewIdentity
	return resp.Diagnostics
}

// Plan is a plan of one resource.
type Plan struct {
	Action        PlanKind
	config, value tftypes.Value
	private       []byte
	identity      *tfprotov6.ResourceIdentityData
}

// Plan refreshes the resource and plans a configuration, nil for a destroy.
func (c *Core) Plan(config map[string]any) (Plan, Diagnostics) {
	c.T.Helper()
	refreshed := c.Refresh()
	if refreshed.Failed() {
		return Plan{}, refreshed
	}
	p, said := c.PlanUnrefreshed(config)
	return p, append(refreshed, said...)
}

// PlanUnrefreshed is Plan with -refresh=false. A tainted resource is planned as if it did not exist, and is
// replaced.
func (c *Core) PlanUnrefreshed(config map[string]any) (Plan, Diagnostics) {
	c.T.Helper()
	c.Tainted = c.Tainted && !c.State.IsNull()
	prior, nothing := *c.Kept, tftypes.NewValue(c.State.Type(), nil)
	if c.Tainted && config != nil {
		prior = Kept{State: nothing}
	}
	p, replaces, said := c.planFrom(prior, config)
	switch {
	case said.Failed():
		return Plan{}, said
	case p.value.IsNull() && c.State.IsNull():
		p.Action = PlanNothing
	case p.value.IsNull():
		p.Action = PlanDestroy
	case c.Tainted:
		p.Action = PlanReplace
	case c.State.IsNull():
		p.Action = PlanCreate
	case replaces, c.Replacing:
		// The new object is planned as if there had been no old one.
		anew, _, failed := c.planFrom(Kept{State: nothing, Private: p.private, Identity: p.identity}, config)
		if failed.Failed() {
			return Plan{}, failed
		}
		p = anew
		p.Action = PlanReplace
	case p.value.Equal(c.State):
		p.Action = PlanNothing
	default:
		p.Action = PlanUpdate
	}
	return p, said
}

// planFrom plans a configuration against a prior state, and reports whether the object has to be
// replaced.
func (c *Core) planFrom(prior Kept, config map[string]any) (p Plan, replaces bool, said Diagnostics) {
	c.T.Helper()
	schema := c.Schema.ResourceSchemas[c.typ]
	p.config = tftypes.NewValue(schema.ValueType(), nil)
	if config != nil {
		p.config = ValueOf(schema.ValueType(), config)
	}
	resp, err := c.Server.PlanResourceChange(c.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: c.typ, PriorState: c.wire(prior.State), ProposedNewState: c.wire(proposedState(c.T, schema, prior.State, p.config)), Config: c.wire(p.config),
		PriorPrivate: prior.Private, PriorIdentity: prior.Identity,
	})
	NoError(c.T, err)
	if said = resp.Diagnostics; said.Failed() {
		return Plan{}, false, said
	}
	p.value, p.private, p.identity = c.Unwire(resp.PlannedState), resp.PlannedPrivate, resp.PlannedIdentity
	if config != nil {
		c.faults("invalid plan", invalidPlan(c.T, schema.Block.Attributes, prior.State, p.config, p.value, ""))
	}
	return p, len(resp.RequiresReplace) > 0, said
}

// faults fails the test with what Terraform would report as a bug in the provider.
func (c *Core) faults(produced string, faults []string) {
	c.T.Helper()
	for _, fault := range faults {
		c.T.Errorf("Provider produced %s: %s%s", produced, c.typ, fault)
	}
}

// Planned returns the planned attributes, none for a destroy.
func (p Plan) Planned(tb testing.TB) map[string]tftypes.Value {
	tb.Helper()
	return AttributesOf(tb, p.value)
}

// proposedState returns the configuration, with computed attributes from the prior state if there is one.
func proposedState(tb testing.TB, schema *tfprotov6.Schema, prior, config tftypes.Value) tftypes.Value {
	tb.Helper()
	if config.IsNull() {
		return config
	}
	// A copy, because AttributesOf returns the value's own map.
	configured, was := maps.Clone(AttributesOf(tb, config)), AttributesOf(tb, prior)
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

// AttributesOf returns the attributes of an object, none if it is null.
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

// Apply refreshes, plans a configuration (nil for a destroy) and applies the plan. It returns the kind of
// plan, "" if the refresh failed.
func (c *Core) Apply(config map[string]any) (PlanKind, Diagnostics) {
	c.T.Helper()
	refreshed := c.Refresh()
	if refreshed.Failed() {
		return "", refreshed
	}
	kind, said := c.ApplyUnrefreshed(config)
	return kind, append(refreshed, said...)
}

// ApplyUnrefreshed is Apply with -refresh=false.
func (c *Core) ApplyUnrefreshed(config map[string]any) (PlanKind, Diagnostics) {
	c.T.Helper()
	return c.ApplyResolved(config, config)
}

// notices are warnings that only report what a plan or an apply does to hosts.
var notices = []string{"Hosts Leave Without A Limit", "Hosted Process Is Replaced", "Hosts Taken Over", "Operation On Destroy"}

// ApplyResolved is ApplyUnrefreshed of a configuration that has unknown values before the apply. It returns
// the kind of plan. Notices are kept separately.
func (c *Core) ApplyResolved(unknown, config map[string]any) (PlanKind, Diagnostics) {
	c.T.Helper()
	kind, said := c.applyResolved(unknown, config)
	said, c.Notices = said.withoutNotices()
	return kind, said
}

// withoutNotices splits diagnostics into others and notices.
func (d Diagnostics) withoutNotices() (others, kept Diagnostics) {
	for _, one := range d {
		if slices.ContainsFunc(notices, func(notice string) bool { return strings.HasPrefix(one.Summary, notice) }) {
			kept = append(kept, one)
		} else {
			others = append(others, one)
		}
	}
	return others, kept
}

func (c *Core) applyResolved(unknown, config map[string]any) (PlanKind, Diagnostics) {
	c.T.Helper()
	p, said := c.PlanUnrefreshed(unknown)
	if said.Failed() || p.Action == PlanNothing {
		return p.Action, said
	}
	if c.Between != nil {
		c.Between()
	}
	if c.Fresh != nil {
		until := c.Until
		c.Protocol = c.Fresh()
		c.Until = until
	}
	if p.Action == PlanReplace || p.Action == PlanDestroy {
		// The destroy of a tainted object gets the private state in the plan of the new object, which is empty.
		nothing := tftypes.NewValue(c.State.Type(), nil)
		said = append(said, c.execute(Plan{Action: PlanDestroy, config: nothing, value: nothing, private: p.private, identity: c.Identity})...)
		if said.Failed() || p.Action == PlanDestroy {
			return p.Action, said
		}
	}
	stays := p.Action == PlanCreate || p.Action == PlanUpdate
	if stays && c.Fresh == nil && c.Between == nil && p.config.IsFullyKnown() { // the second plan would be the same
		return p.Action, append(said, c.execute(p)...)
	}
	again, planned := c.PlanUnrefreshed(config)
	said = said.with(planned)
	if planned.Failed() {
		return p.Action, said
	}
	c.faults("inconsistent final plan", Inconsistent(c.T, p, again))
	if again.Action == PlanNothing {
		return p.Action, said
	}
	return p.Action, append(said, c.execute(again)...)
}

// execute applies a plan.
func (c *Core) execute(p Plan) Diagnostics {
	c.T.Helper()
	resp, err := c.Server.ApplyResourceChange(c.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: c.typ, PriorState: c.wire(c.State), PlannedState: c.wire(p.value), Config: c.wire(p.config),
		PlannedPrivate: p.private, PlannedIdentity: p.identity,
	})
	NoError(c.T, err)
	applied := Diagnostics(resp.Diagnostics)
	state := c.Unwire(resp.NewState)
	if !applied.Failed() {
		c.faults("inconsistent result after apply", incompatible(c.T, p.value, state, ""))
	}
	if !state.IsFullyKnown() {
		c.faults("invalid result object after apply", []string{": " + state.String()})
	}
	// If a replacement fails to destroy the old object, a tainted object stays tainted.
	c.Tainted = applied.Failed() && (c.Tainted || p.Action == PlanCreate) && !state.IsNull()
	c.State, c.Private, c.Identity = state, resp.Private, resp.NewIdentity
	return applied
}

// DestroyUnrefreshed does what `terraform destroy -refresh=false` does.
func (c *Core) DestroyUnrefreshed() Diagnostics {
	c.T.Helper()
	_, said := c.ApplyUnrefreshed(nil)
	return said
}

// Untaint does what `terraform untaint` does. It fails the test if the resource is not tainted.
func (c *Core) Untaint() {
	c.T.Helper()
	if !c.Tainted {
		c.T.Error("it is not tainted")
	}
	c.Tainted = false
}

// Imports does what `terraform import` does, which also refreshes.
func (c *Core) Imports(id string) Diagnostics {
	c.T.Helper()
	resp, err := c.Server.ImportResourceState(c.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: c.typ, ID: id})
	NoError(c.T, err)
	if diags := Diagnostics(resp.Diagnostics); diags.Failed() {
		return diags
	}
	imported := resp.ImportedResources[0]
	c.State, c.Private, c.Identity = c.Unwire(imported.State), imported.Private, imported.Identity
	return append(resp.Diagnostics, c.Refresh()...)
}

// Attribute returns an attribute in state as Plain does, nil if there is no state.
func (c *Core) Attribute(name string) any {
	c.T.Helper()
	value, ok := AttributesOf(c.T, c.State)[name]
	if !ok {
		return nil
	}
	return Plain(c.T, value)
}

// Reasons returns an attribute in state that maps host keys to reasons, such as out_of_sync.
func (c *Core) Reasons(attribute string) map[string]string {
	c.T.Helper()
	return Texts(c.Attribute(attribute))
}

// ReadData reads a data source. Its values are nil if there was an error.
func (p *Protocol) ReadData(typ string, config map[string]any) (map[string]any, Diagnostics) {
	p.T.Helper()
	schema := p.Schema.DataSourceSchemas[typ]
	resp, err := p.Server.ReadDataSource(p.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: typ, Config: p.Dynamic(schema, config)})
	NoError(p.T, err)
	if resp.State == nil || Diagnostics(resp.Diagnostics).Failed() {
		return nil, resp.Diagnostics
	}
	values, ok := p.Read(resp.State, schema.ValueType()).(map[string]any)
	if !ok {
		p.T.Fatal("a data source without attributes")
	}
	return values, resp.Diagnostics
}

// Diagnostics are the provider's diagnostics in one run.
type Diagnostics []*tfprotov6.Diagnostic

// Failed reports whether there is an error among them.
func (d Diagnostics) Failed() bool {
	return slices.ContainsFunc(d, func(one *tfprotov6.Diagnostic) bool { return one.Severity == tfprotov6.DiagnosticSeverityError })
}

// with appends the diagnostics of more that d does not have.
func (d Diagnostics) with(more Diagnostics) Diagnostics {
	for _, one := range more {
		reported := func(before *tfprotov6.Diagnostic) bool {
			return before.Summary == one.Summary && before.Detail == one.Detail
		}
		if !slices.ContainsFunc(d, reported) {
			d = append(d, one)
		}
	}
	return d
}

func (d Diagnostics) String() string { return DiagnosticsText(d) }

// Severity returns the worst severity, "error" or "warning", or "" if there are no diagnostics.
func (d Diagnostics) Severity() string {
	switch {
	case d.Failed():
		return "error"
	case len(d) > 0:
		return "warning"
	}
	return ""
}
