package reference

import (
	"context"
	"math/big"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
)

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

// specToAPI returns nil for a null spec.
func specToAPI(ctx context.Context, spec types.Object) (*gse.Spec, diag.Diagnostics) {
	if spec.IsNull() {
		return nil, nil
	}
	var m specModel
	diags := As(ctx, spec, &m)
	if diags.HasError() {
		return nil, diags
	}
	return m.toAPI(), diags
}

func (m specModel) toAPI() *gse.Spec {
	spec := &gse.Spec{
		Identity: gse.Identity{
			IndexKey:   given(m.Identity.IndexKey),
			ProcName:   m.Identity.ProcName.ValueString(),
			SetupPath:  m.Identity.SetupPath.ValueString(),
			PIDPath:    m.Identity.PIDPath.ValueString(),
			ConfigPath: given(m.Identity.ConfigPath),
			LogPath:    given(m.Identity.LogPath),
			User:       m.Identity.User.ValueString(),
		},
		Control: gse.Control{
			StartCmd:   given(m.Control.StartCmd),
			StopCmd:    given(m.Control.StopCmd),
			RestartCmd: given(m.Control.RestartCmd),
			ReloadCmd:  given(m.Control.ReloadCmd),
			KillCmd:    given(m.Control.KillCmd),
			VersionCmd: given(m.Control.VersionCmd),
			HealthCmd:  given(m.Control.HealthCmd),
		},
		MonitorPolicy: gse.MonitorPolicy{
			AutoType:       m.MonitorPolicy.AutoType.ValueInt64(),
			StartCheckSecs: m.MonitorPolicy.StartCheckSecs.ValueInt64Pointer(),
			StopCheckSecs:  m.MonitorPolicy.StopCheckSecs.ValueInt64Pointer(),
			StartRetries:   m.MonitorPolicy.StartRetries.ValueInt64Pointer(),
			StartInterval:  m.MonitorPolicy.StartInterval.ValueInt64Pointer(),
			CrontabRule:    given(m.MonitorPolicy.CrontabRule),
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
		if file := (gse.ConfigFile{Path: given(file.Path), MD5: given(file.MD5)}); file != (gse.ConfigFile{}) {
			spec.ConfigMap = append(spec.ConfigMap, file)
		}
	}
	return spec
}

// The platform's documented defaults, in seconds. The agent's file has these for values that were not sent.
const (
	defaultStartCheckSecs = 5
	defaultOpTimeout      = 60
)

// HostedSpec returns the value of spec for a process that an agent hosts. Defaults, and values that the
// agent's file does not contain, are null. If it lacks one limit, both are null, because neither can be
// declared alone. registered reports whether a spec has the registered fingerprint, which includes declared
// defaults: if it matches only with the default of start_check_secs, that default is kept.
func HostedSpec(ctx context.Context, e hostedspec.Entry, registered func(*gse.Spec) bool) any {
	besides := func(standard, n int64) types.Int64 {
		if n == 0 || n == standard {
			return types.Int64Null()
		}
		return types.Int64Value(n)
	}
	autoType := types.Int64Null()
	if e.HasAutoType {
		autoType = types.Int64Value(e.AutoType)
	}
	m := specModel{
		Identity: identityModel{
			ProcName: types.StringValue(e.ProcName), SetupPath: types.StringValue(e.SetupPath),
			PIDPath: types.StringValue(e.PIDPath), User: types.StringValue(e.User),
		},
		Control: controlModel{
			StartCmd: orNull(e.StartCmd), StopCmd: orNull(e.StopCmd), RestartCmd: orNull(e.RestartCmd), ReloadCmd: orNull(e.ReloadCmd),
			KillCmd: orNull(e.KillCmd), VersionCmd: orNull(e.VersionCmd), HealthCmd: orNull(e.HealthCmd),
		},
		MonitorPolicy: monitorPolicyModel{
			AutoType:       autoType,
			StartCheckSecs: besides(defaultStartCheckSecs, e.StartCheckSecs), OpTimeout: besides(defaultOpTimeout, e.OpTimeout),
		},
	}
	if e.CPU > 0 && e.Mem > 0 {
		m.Resource = &resourceModel{CPU: asWritten(ctx, e.CPU), Mem: asWritten(ctx, e.Mem)}
	}
	if declared := m; e.StartCheckSecs == defaultStartCheckSecs {
		declared.MonitorPolicy.StartCheckSecs = types.Int64Value(defaultStartCheckSecs)
		if registered(declared.toAPI()) {
			return declared
		}
	}
	return m
}

// asWritten returns a number with the precision of a number in a configuration, to which a plain float64
// would not be equal. An agent may keep only 32 bits of it.
func asWritten(ctx context.Context, n float64) types.Float64 {
	number, _, err := big.ParseFloat(strconv.FormatFloat(n, 'f', -1, 32), 10, 512, big.ToNearestEven) // 512 as Terraform does
	if err == nil {
		value, _ := types.Float64Type.ValueFromTerraform(ctx, tftypes.NewValue(tftypes.Number, number))
		if written, ok := value.(types.Float64); ok {
			return written
		}
	}
	return types.Float64Value(n)
}

func orNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}
