package reference

import (
	"context"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// GSEModel holds the values of meta, hosts and spec. Each may be unknown while
// planning, so they are kept as Terraform values until something needs them.
type GSEModel struct {
	Meta  types.Object `tfsdk:"meta"`
	Hosts HostMap      `tfsdk:"hosts"`
	Spec  types.Object `tfsdk:"spec"`
}

// Identifier is "<namespace>:<name>".
func (m *GSEModel) Identifier(ctx context.Context) types.String {
	namespace, _ := m.Meta.Attributes()["namespace"].(types.String)
	name, _ := m.Meta.Attributes()["name"].(types.String)
	if m.Meta.IsUnknown() || !Known(ctx, namespace, name) {
		return types.StringUnknown()
	}
	return types.StringValue(namespace.ValueString() + ":" + name.ValueString())
}

// Check finds nothing: the validators of the schema see all there is to see.
func (m *GSEModel) Check(*platform.Platform) diag.Diagnostics { return nil }

func (m *GSEModel) takesAgentIDs(p *platform.Platform) bool { return p.Gateway == bkapi.APIGW }

func (m *GSEModel) commands(ctx context.Context, config tfsdk.Config) (types.Object, path.Path) {
	at := path.Root("spec").AtName("control")
	control := types.ObjectNull(nil)
	if diags := config.GetAttribute(ctx, at, &control); diags.HasError() {
		control = types.ObjectNull(nil) // the spec is not known yet
	}
	return control, at
}

// ChecksHealth reports whether the spec has a health command.
func (m *GSEModel) ChecksHealth() bool {
	control, _ := m.Spec.Attributes()["control"].(types.Object)
	command, set := control.Attributes()["health_cmd"].(types.String)
	return set && command.ValueString() != ""
}

// Unlimited reports whether there is a spec without limits.
func (m *GSEModel) Unlimited() bool {
	limits, known := m.Spec.Attributes()["resource"]
	return known && limits.IsNull()
}

// HostsMap is the value of hosts.
func (m *GSEModel) HostsMap() *HostMap { return &m.Hosts }

func (m *GSEModel) definition() []attr.Value { return []attr.Value{m.Meta, m.Spec} }

// Open converts the model for GSE's API. A null spec gives a process whose status can
// be read only from what the platform has cached.
func (m *GSEModel) Open(ctx context.Context, p *platform.Platform, owner string) (Target, diag.Diagnostics) {
	var diags diag.Diagnostics
	meta, d := MetaToAPI(ctx, m.Meta)
	diags.Append(d...)
	spec, d := specToAPI(ctx, m.Spec)
	diags.Append(d...)
	hosts, d := checkedInventory(p, m)
	diags.Append(d...)
	if diags.HasError() {
		return Target{}, diags
	}
	desired, err := p.Desired(meta, spec, owner)
	if err != nil {
		diags.Append(diagnose.Bug(err))
	}
	if spec != nil && spec.OpTimeout != nil && (p.Gateway == bkapi.APIGW || spec.Resource == nil) {
		// Registering is hosting then, which sends the timeout along.
		desired.Uncounted = strconv.FormatInt(*spec.OpTimeout, 10)
	}
	o := Target{
		ID:      meta.Namespace + ":" + meta.Name,
		Title:   diagnose.ProcessTitle(meta.Namespace, meta.Name),
		Hosts:   hosts,
		Desired: desired,
		// The labels go along with every call as registering sends them: a start
		// registers hosting, and must not do so with other labels.
		Process: p.GSE.Process(gse.Meta{Namespace: meta.Namespace, Name: meta.Name, Labels: desired.AllLabels()}, spec),
	}
	o.ImportAdvice = " Or import the existing registration, whose id is " + o.ID + "."
	return o, diags
}
