package reference

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fold"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// GSEModel holds the values of meta, hosts and spec, or of process, which replaces all three. Each may be
// unknown in a plan, so they stay Terraform values until something needs them.
type GSEModel struct {
	Meta    types.Object `tfsdk:"meta"`
	Hosts   HostMap      `tfsdk:"hosts"`
	Spec    types.Object `tfsdk:"spec"`
	Process types.String `tfsdk:"process"`

	// at is the path of these attributes in the configuration.
	at path.Path
}

func (m *GSEModel) base() path.Path { return m.at }

func (m *GSEModel) read(ctx context.Context, at path.Path, attributes map[string]attr.Value) {
	m.at = at
	m.Meta, _ = attributes["meta"].(types.Object)
	m.Spec, _ = attributes["spec"].(types.Object)
	m.Process, _ = attributes["process"].(types.String)
	hosts, _ := attributes["hosts"].(types.Map)
	m.Hosts = fold.MapOf(ctx, hosts)
}

// GSEOf returns the process in a value of hosted_process.
func GSEOf(ctx context.Context, hosted types.Object) *GSEModel {
	m := new(GSEModel)
	m.read(ctx, path.Root(wholePart), hosted.Attributes())
	return m
}

func (m *GSEModel) write(attributes map[string]attr.Value) {
	attributes["process"] = m.Process
	if !m.Meta.IsNull() {
		attributes["hosts"] = StringMapValue(maps.Collect(m.Hosts.Known()))
	}
}

// gseParts holds the parts of a process for GSE, in whichever form the configuration has them.
type gseParts struct {
	meta  types.Object
	hosts HostMap
	spec  types.Object
}

func (p gseParts) encode(ctx context.Context) types.String {
	return parts{"meta": p.meta, hostsPart: p.hosts, specPart: p.spec}.encode(ctx)
}

// parts returns the declared parts, which are zero if the process cannot be read.
func (m *GSEModel) parts(ctx context.Context) (gseParts, error) {
	switch {
	case !m.Meta.IsNull() || m.Process.IsNull():
		return gseParts{meta: m.Meta, hosts: m.Hosts, spec: m.Spec}, nil
	case m.Process.IsUnknown():
		return gseParts{meta: types.ObjectUnknown(nil), hosts: UnknownHostMap(), spec: types.ObjectUnknown(nil)}, nil
	}
	var p gseParts
	decoded, err := gseDeclaration.decode(ctx, m.Process.ValueString(), GSEAttributes(Options{}))
	p.meta, _ = decoded["meta"].(types.Object)
	p.hosts, _ = decoded[hostsPart].(HostMap)
	p.spec, _ = decoded[specPart].(types.Object)
	return p, err
}

// SetProcess sets process to the values of meta, hosts and spec, or to unknown while one of them is.
func (m *GSEModel) SetProcess(ctx context.Context) {
	m.Process = gseParts{meta: m.Meta, hosts: m.Hosts, spec: m.Spec}.encode(ctx)
}

// Identifier returns "<namespace>:<name>".
func (m *GSEModel) Identifier(ctx context.Context) types.String {
	parts, _ := m.parts(ctx)
	namespace, _ := parts.meta.Attributes()["namespace"].(types.String)
	name, _ := parts.meta.Attributes()["name"].(types.String)
	if parts.meta.IsUnknown() || !Known(ctx, namespace, name) {
		return types.StringUnknown()
	}
	return types.StringValue(namespace.ValueString() + ":" + name.ValueString())
}

func (m *GSEModel) onHost(ctx context.Context) types.String { return m.Identifier(ctx) }

// Check reports a process that cannot be read.
func (m *GSEModel) Check(ctx context.Context, p *platform.Platform) diag.Diagnostics {
	var diags diag.Diagnostics
	if p == nil {
		return diags
	}
	if _, err := m.parts(ctx); err != nil {
		AddInvalid(&diags, m.at.AtName("process"), "Invalid Process", "it is not the process of a bk_hosted_process: "+err.Error())
	}
	return diags
}

// CheckPeriod implements Model: GSE documents no period for periodic processes.
func (m *GSEModel) CheckPeriod(context.Context) diag.Diagnostics { return nil }

func (m *GSEModel) needsCommand(fleet.Operation) bool { return true }

func (m *GSEModel) takesAgentIDs(p *platform.Platform) bool { return p.Gateway == bkapi.APIGW }

func (m *GSEModel) commands(ctx context.Context, config tfsdk.Config) (types.Object, path.Path) {
	at := m.at.AtName("spec").AtName("control")
	if !m.Process.IsNull() {
		parts, _ := m.parts(ctx)
		control, _ := parts.spec.Attributes()["control"].(types.Object)
		return control, m.at.AtName("process").AtName("spec").AtName("control")
	}
	control := types.ObjectNull(nil)
	if diags := config.GetAttribute(ctx, at, &control); diags.HasError() {
		control = types.ObjectNull(nil) // the spec is unknown
	}
	return control, at
}

// ChecksHealth reports whether the spec has a health command.
func (m *GSEModel) ChecksHealth(ctx context.Context) bool {
	parts, _ := m.parts(ctx)
	control, _ := parts.spec.Attributes()["control"].(types.Object)
	command, set := control.Attributes()["health_cmd"].(types.String)
	return set && command.ValueString() != ""
}

// Unlimited reports whether there is a spec and it sets no limits.
func (m *GSEModel) Unlimited() bool {
	limits, known := m.Spec.Attributes()["resource"]
	return known && limits.IsNull()
}

func (m *GSEModel) resident(ctx context.Context, config tfsdk.Config) bool {
	var kind types.Int64
	diags := config.GetAttribute(ctx, m.at.AtName("spec").AtName("monitor_policy").AtName("auto_type"), &kind)
	return !diags.HasError() && !kind.IsNull() && kind.ValueInt64() == gse.AutoResident
}

func (m *GSEModel) passing(ctx context.Context, config tfsdk.Config) string {
	var kind types.Int64
	diags := config.GetAttribute(ctx, m.at.AtName("spec").AtName("monitor_policy").AtName("auto_type"), &kind)
	if !m.Process.IsNull() {
		parts, _ := m.parts(ctx)
		policy, _ := parts.spec.Attributes()["monitor_policy"].(types.Object)
		kind, _ = policy.Attributes()["auto_type"].(types.Int64)
	}
	if diags.HasError() || kind.IsNull() || kind.IsUnknown() || kind.ValueInt64() == gse.AutoResident {
		return ""
	}
	return fmt.Sprintf("auto_type %d", kind.ValueInt64())
}

func (m *GSEModel) limited(ctx context.Context, config tfsdk.Config) bool {
	var limits types.Object
	diags := config.GetAttribute(ctx, m.at.AtName("spec").AtName("resource"), &limits)
	return !diags.HasError() && !limits.IsNull() && !limits.IsUnknown()
}

// HostsMap returns the value of hosts.
func (m *GSEModel) HostsMap(ctx context.Context) HostMap {
	parts, _ := m.parts(ctx)
	return parts.hosts
}

// SetHosts replaces the hosts in the attribute that contains them, which is hosts or process.
func (m *GSEModel) SetHosts(ctx context.Context, hosts HostMap) {
	parts, _ := m.parts(ctx)
	parts.hosts = hosts
	if !m.Meta.IsNull() {
		m.Hosts = hosts
	}
	if !m.Process.IsNull() {
		m.Process = parts.encode(ctx)
	}
}

// InOneValue implements Model.
func (m *GSEModel) InOneValue() string {
	if !m.Meta.IsNull() || m.Process.IsNull() {
		return ""
	}
	return gseDeclaration.replaced()
}

// HasSpec reports whether a spec is declared. An imported process has none before it is applied.
func (m *GSEModel) HasSpec(ctx context.Context) bool {
	parts, _ := m.parts(ctx)
	return !parts.spec.IsNull()
}

func (m *GSEModel) definition() []attr.Value { return []attr.Value{m.Meta, m.Spec} }

func (m *GSEModel) reference() []attr.Value { return []attr.Value{m.Meta, m.Spec, m.Process} }

func (m *GSEModel) given() (parts, declaration) {
	return parts{"meta": m.Meta, hostsPart: m.Hosts, specPart: m.Spec, gseDeclaration.name: m.Process}, gseDeclaration
}

// Open converts the model for GSE's API. With a null spec, the Target can only be used to read the cached
// status of the process.
func (m *GSEModel) Open(ctx context.Context, p *platform.Platform, owner string) (Target, diag.Diagnostics) {
	var diags diag.Diagnostics
	hosts, d := checkedInventory(ctx, p, m)
	diags.Append(d...)
	parts, err := m.parts(ctx)
	if err != nil {
		return Target{}, diags // checkedInventory has reported the error
	}
	meta, d := MetaToAPI(ctx, parts.meta)
	diags.Append(d...)
	spec, d := specToAPI(ctx, parts.spec)
	diags.Append(d...)
	if diags.HasError() {
		return Target{}, diags
	}
	desired, err := p.Desired(meta, spec, owner)
	if err != nil {
		diags.Append(diagnose.Bug(err))
	}
	if spec != nil && spec.OpTimeout != nil && (p.Gateway == bkapi.APIGW || spec.Resource == nil) {
		// Such a process is registered by hosting it, and only that request contains the timeout.
		desired.Uncounted = strconv.FormatInt(*spec.OpTimeout, 10)
	}
	process := p.GSE.Process(gse.Meta{Namespace: meta.Namespace, Name: meta.Name, Labels: desired.AllLabels()}, spec)
	if owner != "" && desired.FingerprintLabel != "" { // without an owner, the missing owner label shows the same
		process = process.WithStartLabels(desired.StartLabels())
	}
	o := Target{
		ID:      meta.Namespace + ":" + meta.Name,
		Title:   diagnose.ProcessTitle(meta.Namespace, meta.Name),
		Hosts:   hosts,
		Desired: desired,
		Spec:    spec,
		// Every call has the labels of the registration: a start also registers hosting, and must not do so
		// with other labels.
		Process: process,
	}
	o.OnHost = o.ID
	o.ImportAdvice = " Or import the existing registration, whose id is " + o.ID + "."
	return o, diags
}
