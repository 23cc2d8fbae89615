package reference

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// JobModel holds the values of scope or bk_biz_id, process and hosts.
type JobModel struct {
	Scope   types.Object `tfsdk:"scope"`
	BizID   types.Int64  `tfsdk:"bk_biz_id"`
	Process types.Object `tfsdk:"process"`
	Hosts   HostMap      `tfsdk:"hosts"`

	// Registration is the API that registers. Only the object that offers a choice sets
	// it.
	Registration job.Registration `tfsdk:"-"`
}

// Identifier is "<scope>:<key>", where the key is value_key or else the path of the
// binary.
func (m *JobModel) Identifier(ctx context.Context) types.String {
	if !Known(ctx, m.Scope, m.BizID, m.Process) {
		return types.StringUnknown()
	}
	id, _, _, diags := m.name(ctx)
	if diags.HasError() {
		return types.StringUnknown()
	}
	return types.StringValue(id)
}

// name returns the id, and how a sentence about the process begins.
func (m *JobModel) name(ctx context.Context) (id, title string, info job.Info, diags diag.Diagnostics) {
	_, scope, diags := m.scopeToAPI(ctx)
	var p jobProcessModel
	diags.Append(m.Process.As(ctx, &p, basetypes.ObjectAsOptions{})...)
	info = p.toAPI()
	key := cmp.Or(p.ValueKey.ValueString(), strings.TrimRight(info.SetupPath, `/\`)+"/"+info.ProcName)
	return scope + ":" + key, fmt.Sprintf("Process %q of %s", key, scope), info, diags
}

// Check reports a periodic process without a period, which JOB would refuse, and a
// provider that is not configured to reach JOB.
func (m *JobModel) Check(_ context.Context, p *platform.Platform) diag.Diagnostics {
	var diags diag.Diagnostics
	kind, isKind := m.Process.Attributes()["type"].(types.Int64)
	cycle, isCycle := m.Process.Attributes()["cycle_time"].(types.Int64)
	if isKind && isCycle && !kind.IsUnknown() && kind.ValueInt64() == job.TypePeriodic && cycle.IsNull() {
		AddInvalid(&diags, path.Root("process").AtName("cycle_time"), "Missing Cycle Time",
			fmt.Sprintf("a periodic process (type %d, which is also the default) needs a period, and none is set", job.TypePeriodic))
	}
	if p.Ready() && p.Job == nil {
		diags.Append(diagnose.NoJob())
	}
	return diags
}

func (m *JobModel) takesAgentIDs(*platform.Platform) bool { return false }

// HostsMap is the value of hosts.
func (m *JobModel) HostsMap(context.Context) HostMap { return m.Hosts }

// SetHosts replaces them.
func (m *JobModel) SetHosts(_ context.Context, hosts HostMap) { m.Hosts = hosts }

func (m *JobModel) definition() []attr.Value {
	return []attr.Value{m.Scope, m.BizID, m.Process}
}

// HasSpec is true: JOB's process is its spec.
func (m *JobModel) HasSpec(context.Context) bool { return true }

func (m *JobModel) reference() []attr.Value { return m.definition() }

func (m *JobModel) commands(context.Context, tfsdk.Config) (types.Object, path.Path) {
	return m.Process, path.Root("process")
}

func (m *JobModel) resident(context.Context, tfsdk.Config) bool {
	kind, ok := m.Process.Attributes()["type"].(types.Int64)
	return ok && kind.ValueInt64() == job.TypeResident
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
	scope, _, diags := m.scopeToAPI(ctx)
	id, title, info, d := m.name(ctx)
	diags.Append(d...)
	hosts, d := checkedInventory(ctx, p, m)
	diags.Append(d...)
	if diags.HasError() {
		return Target{}, diags
	}
	// JOB has no labels to carry a fingerprint; it tells one declaration from
	// another all the same.
	fingerprint, err := fleet.Fingerprint(info, nil)
	if err != nil {
		diags.Append(diagnose.Bug(err))
	}
	return Target{
		ID:      id,
		Title:   title,
		Hosts:   hosts,
		Settles: info.Settles(),
		Process: p.Job.Process(scope, m.Registration, info),
		Desired: fleet.Desired{Fingerprint: fingerprint, Owner: owner, HasSpec: true},
	}, diags
}
