package reference

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fold"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// JobModel holds the values of scope or bk_biz_id, process and hosts, or of declaration, which replaces
// them.
type JobModel struct {
	Scope       types.Object `tfsdk:"scope"`
	BizID       types.Int64  `tfsdk:"bk_biz_id"`
	Process     types.Object `tfsdk:"process"`
	Hosts       HostMap      `tfsdk:"hosts"`
	Declaration types.String `tfsdk:"declaration"`

	// Registration is the API that registers. It is set only by the object that offers a choice.
	Registration job.Registration `tfsdk:"-"`

	// at is the path of these attributes in the configuration.
	at path.Path
}

// jobParts holds the parts of a process for JOB, in whichever form the configuration has them.
type jobParts struct {
	scope   types.Object
	bizID   types.Int64
	process types.Object
	hosts   HostMap
}

func (p jobParts) encode(ctx context.Context) types.String {
	return parts{"scope": p.scope, "bk_biz_id": p.bizID, "process": p.process, hostsPart: p.hosts}.encode(ctx)
}

// parts returns the declared parts, which are zero if the declaration cannot be read.
func (m *JobModel) parts(ctx context.Context) (jobParts, error) {
	switch {
	case !m.declared():
		return jobParts{scope: m.Scope, bizID: m.BizID, process: m.Process, hosts: m.Hosts}, nil
	case m.Declaration.IsUnknown():
		return jobParts{scope: types.ObjectUnknown(nil), bizID: types.Int64Unknown(), process: types.ObjectUnknown(nil), hosts: UnknownHostMap()}, nil
	}
	var p jobParts
	decoded, err := jobDeclaration.decode(ctx, m.Declaration.ValueString(), JobAttributes(Options{}))
	p.scope, _ = decoded["scope"].(types.Object)
	p.bizID, _ = decoded["bk_biz_id"].(types.Int64)
	p.process, _ = decoded["process"].(types.Object)
	p.hosts, _ = decoded[hostsPart].(HostMap)
	return p, err
}

// declared reports whether a declaration replaces the parts.
func (m *JobModel) declared() bool { return m.Process.IsNull() && !m.Declaration.IsNull() }

// processPath is the path of the process in the configuration.
func (m *JobModel) processPath() path.Path {
	if m.declared() {
		return m.at.AtName(jobDeclaration.name).AtName("process")
	}
	return m.at.AtName("process")
}

// SetDeclaration sets declaration to the values of the other attributes, or to unknown while one of them is.
func (m *JobModel) SetDeclaration(ctx context.Context) {
	m.Declaration = jobParts{scope: m.Scope, bizID: m.BizID, process: m.Process, hosts: m.Hosts}.encode(ctx)
}

// Identifier returns "<scope>:<key>". The key is value_key or, if that is not set, the path of the binary.
func (m *JobModel) Identifier(ctx context.Context) types.String {
	parts, err := m.parts(ctx)
	if err != nil || !Known(ctx, parts.scope, parts.bizID) || !parts.keyKnown(ctx) {
		return types.StringUnknown()
	}
	id, _, _, diags := parts.name(ctx)
	if diags.HasError() {
		return types.StringUnknown()
	}
	return types.StringValue(id)
}

// name also returns the title, which begins sentences about the process.
func (p jobParts) name(ctx context.Context) (id, title string, info job.Info, diags diag.Diagnostics) {
	_, scope, diags := p.scopeToAPI(ctx)
	key, info, d := p.processToAPI(ctx)
	diags.Append(d...)
	return scope + ":" + key, fmt.Sprintf("Process %q of %s", key, scope), info, diags
}

// processToAPI also returns the key of the process on a host.
func (p jobParts) processToAPI(ctx context.Context) (key string, info job.Info, diags diag.Diagnostics) {
	var process jobProcessModel
	diags = As(ctx, p.process, &process)
	info = process.toAPI()
	return cmp.Or(process.ValueKey.ValueString(), strings.TrimRight(info.SetupPath, `/\`)+"/"+info.ProcName), info, diags
}

// keyKnown reports whether everything that makes up the key of the process on a host is known.
func (p jobParts) keyKnown(ctx context.Context) bool {
	attributes := p.process.Attributes()
	for _, name := range []string{"proc_name", "setup_path", "value_key"} {
		if value, has := attributes[name]; !has || !Known(ctx, value) {
			return false
		}
	}
	return true
}

// onHost implements Model: a key names the same process on a host in any scope.
func (m *JobModel) onHost(ctx context.Context) types.String {
	parts, err := m.parts(ctx)
	if err != nil || !parts.keyKnown(ctx) {
		return types.StringUnknown()
	}
	key, _, diags := parts.processToAPI(ctx)
	if diags.HasError() {
		return types.StringUnknown()
	}
	return types.StringValue(key)
}

// Check reports a declaration that cannot be read, and a provider that is configured without access to JOB.
func (m *JobModel) Check(ctx context.Context, p *platform.Platform) diag.Diagnostics {
	var diags diag.Diagnostics
	if _, err := m.parts(ctx); err != nil && p != nil {
		AddInvalid(&diags, m.at.AtName(jobDeclaration.name), "Invalid Process", "it is not the declaration of a bk_job_hosted_process: "+err.Error())
	}
	if p.Ready() && p.Job == nil {
		diags.Append(diagnose.NoJob())
	}
	return diags
}

// checkLabels implements Model: JOB has no labels.
func (m *JobModel) checkLabels(*platform.Platform) diag.Diagnostics { return nil }

// CheckPeriod reports a periodic process without a period, which the agent needs.
func (m *JobModel) CheckPeriod(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	parts, _ := m.parts(ctx)
	kind, isKind := parts.process.Attributes()["type"].(types.Int64)
	cycle, isCycle := parts.process.Attributes()["cycle_time"].(types.Int64)
	if isKind && isCycle && !kind.IsUnknown() && kind.ValueInt64() == job.TypePeriodic && !cycle.IsUnknown() && cycle.ValueInt64() == 0 {
		AddInvalid(&diags, m.processPath().AtName("cycle_time"), "Missing Cycle Time",
			fmt.Sprintf("a periodic process (type %d, which is also the default) needs a period, and none is set", job.TypePeriodic))
	}
	return diags
}

func (m *JobModel) needsCommand(operation fleet.Operation) bool { return operation != fleet.Stop }

func (m *JobModel) base() path.Path { return m.at }

func (m *JobModel) read(ctx context.Context, at path.Path, attributes map[string]attr.Value) {
	m.at = at
	m.Scope, _ = attributes["scope"].(types.Object)
	m.BizID, _ = attributes["bk_biz_id"].(types.Int64)
	m.Process, _ = attributes["process"].(types.Object)
	m.Declaration, _ = attributes[jobDeclaration.name].(types.String)
	hosts, _ := attributes[hostsPart].(types.Map)
	m.Hosts = fold.MapOf(ctx, hosts)
}

// JobOf returns the process in a value of hosted_process.
func JobOf(ctx context.Context, hosted types.Object) *JobModel {
	m := new(JobModel)
	m.read(ctx, path.Root(wholePart), hosted.Attributes())
	return m
}

func (m *JobModel) write(attributes map[string]attr.Value) {
	attributes[jobDeclaration.name] = m.Declaration
	if !m.declared() {
		attributes[hostsPart] = StringMapValue(maps.Collect(m.Hosts.Known()))
	}
}

func (m *JobModel) takesAgentIDs(*platform.Platform) bool { return false }

// HostsMap returns the value of hosts.
func (m *JobModel) HostsMap(ctx context.Context) HostMap {
	parts, _ := m.parts(ctx)
	return parts.hosts
}

// SetHosts replaces the hosts in the attribute that contains them, which is hosts or declaration.
func (m *JobModel) SetHosts(ctx context.Context, hosts HostMap) {
	parts, _ := m.parts(ctx)
	parts.hosts = hosts
	if !m.declared() {
		m.Hosts = hosts
	}
	if !m.Declaration.IsNull() {
		m.Declaration = parts.encode(ctx)
	}
}

func (m *JobModel) definition() []attr.Value {
	return []attr.Value{m.Scope, m.BizID, m.Process}
}

// InOneValue implements Model.
func (m *JobModel) InOneValue() string {
	if !m.declared() {
		return ""
	}
	return jobDeclaration.replaced()
}

// HasSpec returns true: JOB's process is its spec.
func (m *JobModel) HasSpec(context.Context) bool { return true }

func (m *JobModel) given() (parts, declaration) {
	return parts{"scope": m.Scope, "bk_biz_id": m.BizID, "process": m.Process, hostsPart: m.Hosts, jobDeclaration.name: m.Declaration}, jobDeclaration
}

func (m *JobModel) reference() []attr.Value { return append(m.definition(), m.Declaration) }

func (m *JobModel) commands(ctx context.Context, _ tfsdk.Config) (types.Object, path.Path) {
	parts, _ := m.parts(ctx)
	return parts.process, m.processPath()
}

func (m *JobModel) resident(context.Context, tfsdk.Config) bool {
	kind, ok := m.Process.Attributes()["type"].(types.Int64)
	return ok && kind.ValueInt64() == job.TypeResident
}

func (m *JobModel) passing(ctx context.Context, _ tfsdk.Config) string {
	parts, _ := m.parts(ctx)
	kind, ok := parts.process.Attributes()["type"].(types.Int64)
	switch {
	case !ok || kind.IsUnknown() || kind.ValueInt64() == job.TypeResident:
		return ""
	case kind.IsNull():
		return fmt.Sprintf("type %d, which is the default", job.TypePeriodic)
	}
	return fmt.Sprintf("type %d", kind.ValueInt64())
}

func (m *JobModel) limited(context.Context, tfsdk.Config) bool {
	for _, name := range []string{"cpu_lmt", "mem_lmt"} {
		if limit, ok := m.Process.Attributes()[name].(types.Int64); ok && limit.ValueInt64() > 0 {
			return true
		}
	}
	return false
}

// Open converts the model for JOB's API.
func (m *JobModel) Open(ctx context.Context, p *platform.Platform, owner string) (Target, diag.Diagnostics) {
	if p.Job == nil {
		return Target{}, diag.Diagnostics{diagnose.NoJob()}
	}
	hosts, diags := checkedInventory(ctx, p, m)
	parts, err := m.parts(ctx)
	if err != nil {
		return Target{}, diags // checkedInventory has reported the error
	}
	scope, _, d := parts.scopeToAPI(ctx)
	diags.Append(d...)
	id, title, info, d := parts.name(ctx)
	diags.Append(d...)
	key, _, _ := parts.processToAPI(ctx) // name has reported its errors
	if diags.HasError() {
		return Target{}, diags
	}
	// JOB has no labels to keep a fingerprint in, but the fingerprint still distinguishes declarations.
	fingerprint, err := fleet.Fingerprint(info, nil)
	if err != nil {
		diags.Append(diagnose.Bug(err))
	}
	o := Target{
		ID:      id,
		Title:   title,
		OnHost:  key,
		Hosts:   hosts,
		Process: p.Job.Process(scope, m.Registration, info),
		Desired: fleet.Desired{Fingerprint: fingerprint, Spec: fingerprint, Owner: owner, HasSpec: true},
	}
	return o, diags
}
