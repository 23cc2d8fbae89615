package reference

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// GSEModel is meta, hosts and spec as an object has them. Each may be
// unknown while planning, so they are kept as values until something needs them.
type GSEModel struct {
	Meta  types.Object `tfsdk:"meta"`
	Hosts HostMap     `tfsdk:"hosts"`
	Spec  types.Object `tfsdk:"spec"`
}

func (m *GSEModel) Identifier(ctx context.Context) types.String {
	namespace, _ := m.Meta.Attributes()["namespace"].(types.String)
	name, _ := m.Meta.Attributes()["name"].(types.String)
	if m.Meta.IsUnknown() || !Known(ctx, namespace, name) {
		return types.StringUnknown()
	}
	return types.StringValue(namespace.ValueString() + ":" + name.ValueString())
}

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

func (m *GSEModel) HostsMap() *HostMap { return &m.Hosts }

func (m *GSEModel) definition() []attr.Value { return []attr.Value{m.Meta, m.Spec} }

func (m *GSEModel) Open(ctx context.Context, p *platform.Platform) (Target, diag.Diagnostics) {
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
	desired, err := p.Desired(meta, spec)
	if err != nil {
		diags.Append(diagnose.Bug(err))
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
	o.ImportAdvice = " Or import what is there with the id " + o.ID + "."
	return o, diags
}

type metaModel struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
	Labels    types.Map    `tfsdk:"labels"`
}

type specModel struct {
	Identity         identityModel          `tfsdk:"identity"`
	Control          controlModel           `tfsdk:"control"`
	Resource         *resourceModel         `tfsdk:"resource"`
	MonitorPolicy    monitorPolicyModel     `tfsdk:"monitor_policy"`
	WarnReportPolicy *warnReportPolicyModel `tfsdk:"warn_report_policy"`
	ConfigMap        []configFileModel      `tfsdk:"configmap"`
}

type identityModel struct {
	ProcName   types.String `tfsdk:"proc_name"`
	SetupPath  types.String `tfsdk:"setup_path"`
	PIDPath    types.String `tfsdk:"pid_path"`
	User       types.String `tfsdk:"user"`
	ConfigPath types.String `tfsdk:"config_path"`
	LogPath    types.String `tfsdk:"log_path"`
	IndexKey   types.String `tfsdk:"index_key"`
}

type controlModel struct {
	StartCmd   types.String `tfsdk:"start_cmd"`
	StopCmd    types.String `tfsdk:"stop_cmd"`
	RestartCmd types.String `tfsdk:"restart_cmd"`
	ReloadCmd  types.String `tfsdk:"reload_cmd"`
	KillCmd    types.String `tfsdk:"kill_cmd"`
	VersionCmd types.String `tfsdk:"version_cmd"`
	HealthCmd  types.String `tfsdk:"health_cmd"`
}

type resourceModel struct {
	CPU  types.Float64 `tfsdk:"cpu"`
	Mem  types.Float64 `tfsdk:"mem"`
	FD   types.Int64   `tfsdk:"fd"`
	Disk types.Int64   `tfsdk:"disk"`
	Net  types.Int64   `tfsdk:"net"`
}

type monitorPolicyModel struct {
	AutoType       types.Int64  `tfsdk:"auto_type"`
	StartCheckSecs types.Int64  `tfsdk:"start_check_secs"`
	StopCheckSecs  types.Int64  `tfsdk:"stop_check_secs"`
	StartRetries   types.Int64  `tfsdk:"start_retries"`
	StartInterval  types.Int64  `tfsdk:"start_interval"`
	CrontabRule    types.String `tfsdk:"crontab_rule"`
	OpTimeout      types.Int64  `tfsdk:"op_timeout"`
}

type warnReportPolicyModel struct {
	ReportID types.Int64 `tfsdk:"report_id"`
}

type configFileModel struct {
	Path types.String `tfsdk:"path"`
	MD5  types.String `tfsdk:"md5"`
}

// MetaToAPI gives the name and the labels of the object's own, without default
// labels and fingerprint.
func MetaToAPI(ctx context.Context, meta types.Object) (gse.Meta, diag.Diagnostics) {
	var m metaModel
	diags := meta.As(ctx, &m, basetypes.ObjectAsOptions{})
	if diags.HasError() {
		return gse.Meta{}, diags
	}
	return gse.Meta{Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString(), Labels: StringMap(m.Labels)}, diags
}

// specToAPI gives nil for a null spec.
func specToAPI(ctx context.Context, spec types.Object) (*gse.Spec, diag.Diagnostics) {
	if spec.IsNull() {
		return nil, nil
	}
	var m specModel
	diags := spec.As(ctx, &m, basetypes.ObjectAsOptions{})
	if diags.HasError() {
		return nil, diags
	}
	return m.toAPI(), diags
}

func (m specModel) toAPI() *gse.Spec {
	spec := &gse.Spec{
		Identity: gse.Identity{
			IndexKey:   m.Identity.IndexKey.ValueStringPointer(),
			ProcName:   m.Identity.ProcName.ValueString(),
			SetupPath:  m.Identity.SetupPath.ValueString(),
			PIDPath:    m.Identity.PIDPath.ValueString(),
			ConfigPath: m.Identity.ConfigPath.ValueStringPointer(),
			LogPath:    m.Identity.LogPath.ValueStringPointer(),
			User:       m.Identity.User.ValueString(),
		},
		Control: gse.Control{
			StartCmd:   m.Control.StartCmd.ValueStringPointer(),
			StopCmd:    m.Control.StopCmd.ValueStringPointer(),
			RestartCmd: m.Control.RestartCmd.ValueStringPointer(),
			ReloadCmd:  m.Control.ReloadCmd.ValueStringPointer(),
			KillCmd:    m.Control.KillCmd.ValueStringPointer(),
			VersionCmd: m.Control.VersionCmd.ValueStringPointer(),
			HealthCmd:  m.Control.HealthCmd.ValueStringPointer(),
		},
		MonitorPolicy: gse.MonitorPolicy{
			AutoType:       m.MonitorPolicy.AutoType.ValueInt64(),
			StartCheckSecs: m.MonitorPolicy.StartCheckSecs.ValueInt64Pointer(),
			StopCheckSecs:  m.MonitorPolicy.StopCheckSecs.ValueInt64Pointer(),
			StartRetries:   m.MonitorPolicy.StartRetries.ValueInt64Pointer(),
			StartInterval:  m.MonitorPolicy.StartInterval.ValueInt64Pointer(),
			CrontabRule:    m.MonitorPolicy.CrontabRule.ValueStringPointer(),
		},
		OpTimeout: m.MonitorPolicy.OpTimeout.ValueInt64Pointer(),
	}
	if m.Resource != nil {
		spec.Resource = &gse.Resource{
			CPU:  m.Resource.CPU.ValueFloat64(),
			Mem:  m.Resource.Mem.ValueFloat64(),
			FD:   m.Resource.FD.ValueInt64Pointer(),
			Disk: m.Resource.Disk.ValueInt64Pointer(),
			Net:  m.Resource.Net.ValueInt64Pointer(),
		}
	}
	if m.WarnReportPolicy != nil {
		spec.WarnReportPolicy = &gse.WarnReportPolicy{ReportID: m.WarnReportPolicy.ReportID.ValueInt64Pointer()}
	}
	for _, file := range m.ConfigMap {
		spec.ConfigMap = append(spec.ConfigMap, gse.ConfigFile{Path: file.Path.ValueStringPointer(), MD5: file.MD5.ValueStringPointer()})
	}
	return spec
}

// InventoryOf parses a hosts map. Values that are not known are left out, which
// only a plan may do.
func InventoryOf(hosts HostMap, supplier int) (fleet.Inventory, diag.Diagnostics) {
	var diags diag.Diagnostics
	inventory, faults := fleet.NewInventory(hosts.Known(), supplier)
	for _, fault := range faults {
		AddInvalid(&diags, path.Root("hosts").AtMapKey(fault.Key), diagnose.SummaryInvalidHost, fault.Err.Error())
	}
	return inventory, diags
}

// StringMap is a map of strings without its null and unknown elements; nil for a
// null map.
func StringMap(m types.Map) map[string]string {
	if m.IsNull() || m.IsUnknown() {
		return nil
	}
	plain := make(map[string]string, len(m.Elements()))
	for key, element := range m.Elements() {
		if value, ok := element.(types.String); ok && !value.IsNull() && !value.IsUnknown() {
			plain[key] = value.ValueString()
		}
	}
	return plain
}

// StringMapValue is the way back. A nil map is an empty one.
func StringMapValue(plain map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(plain))
	for key, value := range plain {
		elements[key] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, elements)
}

// Known tells whether a value has no unknown part.
func Known(ctx context.Context, values ...attr.Value) bool {
	for _, value := range values {
		raw, err := value.ToTerraformValue(ctx)
		if err != nil || !raw.IsFullyKnown() {
			return false
		}
	}
	return true
}
