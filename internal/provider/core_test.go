package provider

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// core is as much of Terraform as a resource sees of it: refresh, plan, apply and
// what is kept in state between them. It is there for tests with hundreds of runs,
// for which a CLI is too slow; what it does on errors is what Terraform was seen to
// do (TestAccFaultMatrix takes the same cases through a real one).
type core struct {
	*protocol
	typ string
	*kept
	// between, if not nil, happens between a plan and its apply.
	between func()
	// fresh, if not nil, starts the provider that applies: Terraform has one for a plan
	// and another for its apply, which knows nothing of what the first has learnt.
	fresh func() *protocol
}

// kept is what state has of one resource. Several runs, each with a provider of
// its own, hand it on.
type kept struct {
	state    tftypes.Value // null where there is none
	private  []byte
	identity *tfprotov6.ResourceIdentityData
	tainted  bool
}

// planKind is what a plan is going to do.
type planKind string

const (
	planNothing planKind = "no changes"
	planCreate  planKind = "create"
	planUpdate  planKind = "update"
	planReplace planKind = "replace"
	planDestroy planKind = "destroy"
)

// changes tells whether a plan was made and had something to do.
func (k planKind) changes() bool { return k != "" && k != planNothing }

// coreOf runs one resource, from what is kept of it.
func (p *protocol) coreOf(typ string, k *kept) *core {
	p.t.Helper()
	if k.state.Type() == nil {
		k.state = tftypes.NewValue(p.schema.ResourceSchemas[typ].ValueType(), nil)
	}
	return &core{protocol: p, typ: typ, kept: k}
}

func (c *core) wire(v tftypes.Value) *tfprotov6.DynamicValue {
	c.t.Helper()
	value, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		c.t.Fatal(err)
	}
	return &value
}

func (c *core) unwire(v *tfprotov6.DynamicValue) tftypes.Value {
	c.t.Helper()
	value, err := v.Unmarshal(c.schema.ResourceSchemas[c.typ].ValueType())
	if err != nil {
		c.t.Fatal(err)
	}
	return value
}

// refresh reads the resource. Where that fails, state stays what it was.
func (c *core) refresh() diagnostics {
	c.t.Helper()
	if c.state.IsNull() {
		return nil
	}
	resp, err := c.server.ReadResource(c.context(), &tfprotov6.ReadResourceRequest{
		TypeName: c.typ, CurrentState: c.wire(c.state), Private: c.private, CurrentIdentity: c.identity,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if diags := diagnostics(resp.Diagnostics); diags.failed() {
		return diags
	}
	c.state, c.private, c.identity = c.unwire(resp.NewState), resp.Private, resp.NewIdentity
	return resp.Diagnostics
}

// corePlan is a plan that can be applied.
type corePlan struct {
	action           planKind
	config, proposed tftypes.Value
	planned          *tfprotov6.DynamicValue
	private          []byte
	identity         *tfprotov6.ResourceIdentityData
}

// plan refreshes and compares with a configuration, nil for a destroy.
func (c *core) plan(config map[string]any) (corePlan, diagnostics) {
	c.t.Helper()
	refreshed := c.refresh()
	if refreshed.failed() {
		return corePlan{}, refreshed
	}
	p, said := c.planUnrefreshed(config)
	return p, append(refreshed, said...)
}

// planUnrefreshed is plan with -refresh=false. What is tainted is planned as if it
// were not there, and then replaced.
func (c *core) planUnrefreshed(config map[string]any) (corePlan, diagnostics) {
	c.t.Helper()
	c.tainted = c.tainted && !c.state.IsNull()
	var (
		schema  = c.schema.ResourceSchemas[c.typ]
		nothing = tftypes.NewValue(schema.ValueType(), nil)
		p       = corePlan{config: nothing}
		prior   = *c.kept
	)
	if config != nil {
		p.config = valueOf(schema.ValueType(), config)
		if c.tainted {
			prior = kept{state: nothing}
		}
	}
	p.proposed = proposedState(c.t, schema, prior.state, p.config)
	resp, err := c.server.PlanResourceChange(c.context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: c.typ, PriorState: c.wire(prior.state), ProposedNewState: c.wire(p.proposed), Config: c.wire(p.config),
		PriorPrivate: prior.private, PriorIdentity: prior.identity,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if diags := diagnostics(resp.Diagnostics); diags.failed() {
		return corePlan{}, diags
	}
	p.planned, p.private, p.identity = resp.PlannedState, resp.PlannedPrivate, resp.PlannedIdentity
	planned := c.unwire(resp.PlannedState)
	switch {
	case planned.IsNull() && c.state.IsNull():
		p.action = planNothing
	case planned.IsNull():
		p.action = planDestroy
	case c.tainted || (len(resp.RequiresReplace) > 0 && !c.state.IsNull()):
		p.action = planReplace
	case c.state.IsNull():
		p.action = planCreate
	case planned.Equal(c.state):
		p.action = planNothing
	default:
		p.action = planUpdate
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
	configured, was := attributesOf(tb, config), attributesOf(tb, prior)
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

// attributesOf are those of an object, none where it is null.
func attributesOf(tb testing.TB, v tftypes.Value) map[string]tftypes.Value {
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

// apply refreshes, plans and does it.
func (c *core) apply(config map[string]any) (planKind, diagnostics) {
	c.t.Helper()
	refreshed := c.refresh()
	if refreshed.failed() {
		return "", refreshed
	}
	kind, said := c.applyUnrefreshed(config)
	return kind, append(refreshed, said...)
}

// applyUnrefreshed is apply with -refresh=false.
func (c *core) applyUnrefreshed(config map[string]any) (planKind, diagnostics) {
	c.t.Helper()
	p, said := c.planUnrefreshed(config)
	switch {
	case said.failed() || p.action == planNothing:
		return p.action, said
	case p.action == planReplace:
		destroyed := c.destroyUnrefreshed()
		if said = append(said, destroyed...); destroyed.failed() {
			return p.action, said
		}
		_, created := c.applyUnrefreshed(config)
		return p.action, append(said, created...)
	}
	if c.between != nil {
		c.between()
	}
	if c.fresh != nil {
		until := c.until
		c.protocol = c.fresh()
		c.until = until
	}
	resp, err := c.server.ApplyResourceChange(c.context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: c.typ, PriorState: c.wire(c.state), PlannedState: p.planned, Config: c.wire(p.config),
		PlannedPrivate: p.private, PlannedIdentity: p.identity,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	applied := diagnostics(resp.Diagnostics)
	state := c.unwire(resp.NewState)
	if !applied.failed() {
		c.consistent(p.planned, state)
	}
	// A replacement that fails to destroy leaves what was tainted as it was.
	c.tainted = applied.failed() && (c.tainted || p.action == planCreate) && !state.IsNull()
	c.state, c.private, c.identity = state, resp.Private, resp.NewIdentity
	return p.action, append(said, applied...)
}

// destroyUnrefreshed is `terraform destroy -refresh=false`.
func (c *core) destroyUnrefreshed() diagnostics {
	c.t.Helper()
	_, said := c.applyUnrefreshed(nil)
	return said
}

// untaint is `terraform untaint`.
func (c *core) untaint() {
	c.t.Helper()
	if !c.tainted {
		c.t.Error("it is not tainted")
	}
	c.tainted = false
}

// consistent fails the test where Terraform would speak of an inconsistent result
// after apply.
func (c *core) consistent(planned *tfprotov6.DynamicValue, state tftypes.Value) {
	c.t.Helper()
	want := c.unwire(planned)
	if want.IsNull() || state.IsNull() {
		if want.IsNull() != state.IsNull() {
			c.t.Errorf("inconsistent result after apply: planned %s, got %s", want, state)
		}
		return
	}
	got := attributesOf(c.t, state)
	for name, value := range attributesOf(c.t, want) {
		if value.IsFullyKnown() && !value.Equal(got[name]) {
			c.t.Errorf("inconsistent result after apply: %s was planned as %s and is %s", name, value, got[name])
		}
	}
	for name, value := range got {
		if !value.IsFullyKnown() {
			c.t.Errorf("inconsistent result after apply: %s is not known", name)
		}
	}
}

// imports is `terraform import`, which refreshes what was imported.
func (c *core) imports(id string) diagnostics {
	c.t.Helper()
	resp, err := c.server.ImportResourceState(c.context(), &tfprotov6.ImportResourceStateRequest{TypeName: c.typ, ID: id})
	if err != nil {
		c.t.Fatal(err)
	}
	if diags := diagnostics(resp.Diagnostics); diags.failed() {
		return diags
	}
	imported := resp.ImportedResources[0]
	c.state, c.private, c.identity = c.unwire(imported.State), imported.Private, imported.Identity
	return append(resp.Diagnostics, c.refresh()...)
}

// attribute is an attribute of the state as Go has it, nil without a state.
func (c *core) attribute(name string) any {
	c.t.Helper()
	value, ok := attributesOf(c.t, c.state)[name]
	if !ok {
		return nil
	}
	return plain(c.t, value)
}

// reasons is what state says of hosts in one of its maps.
func (c *core) reasons(attribute string) map[string]string {
	c.t.Helper()
	return texts(c.attribute(attribute))
}

// readData reads a data source.
func (p *protocol) readData(typ string, config map[string]any) (map[string]any, diagnostics) {
	p.t.Helper()
	schema := p.schema.DataSourceSchemas[typ]
	resp, err := p.server.ReadDataSource(p.context(), &tfprotov6.ReadDataSourceRequest{TypeName: typ, Config: p.dynamic(schema, config)})
	if err != nil {
		p.t.Fatal(err)
	}
	if resp.State == nil || diagnostics(resp.Diagnostics).failed() {
		return nil, resp.Diagnostics
	}
	values, ok := p.read(resp.State, schema.ValueType()).(map[string]any)
	if !ok {
		p.t.Fatal("a data source without attributes")
	}
	return values, resp.Diagnostics
}

// diagnostics are what one run said.
type diagnostics []*tfprotov6.Diagnostic

func (d diagnostics) failed() bool {
	return slices.ContainsFunc(d, func(one *tfprotov6.Diagnostic) bool { return one.Severity == tfprotov6.DiagnosticSeverityError })
}

func (d diagnostics) String() string { return diagnosticsText(d) }

// severity is that of the worst, "" where nothing was said.
func (d diagnostics) severity() string {
	switch {
	case d.failed():
		return "error"
	case len(d) > 0:
		return "warning"
	}
	return ""
}
