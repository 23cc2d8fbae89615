package reference

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/job"
)

type jobProcessModel struct {
	ProcName            types.String `tfsdk:"proc_name"`
	SetupPath           types.String `tfsdk:"setup_path"`
	PIDPath             types.String `tfsdk:"pid_path"`
	ValueKey            types.String `tfsdk:"value_key"`
	ProcOwner           types.String `tfsdk:"proc_owner"`
	Contact             types.String `tfsdk:"contact"`
	Account             types.String `tfsdk:"account"`
	CfgPath             types.String `tfsdk:"cfg_path"`
	LogPath             types.String `tfsdk:"log_path"`
	StartCmd            types.String `tfsdk:"start_cmd"`
	StopCmd             types.String `tfsdk:"stop_cmd"`
	RestartCmd          types.String `tfsdk:"restart_cmd"`
	ReloadCmd           types.String `tfsdk:"reload_cmd"`
	KillCmd             types.String `tfsdk:"kill_cmd"`
	FuncID              types.String `tfsdk:"func_id"`
	InstanceID          types.String `tfsdk:"instance_id"`
	Type                types.Int64  `tfsdk:"type"`
	CycleTime           types.Int64  `tfsdk:"cycle_time"`
	CPULmt              types.Int64  `tfsdk:"cpu_lmt"`
	MemLmt              types.Int64  `tfsdk:"mem_lmt"`
	InstanceNum         types.Int64  `tfsdk:"instance_num"`
	OpTimeout           types.Int64  `tfsdk:"op_timeout"`
	StartCheckBeginTime types.Int64  `tfsdk:"start_check_begin_time"`
	StartCheckEndTime   types.Int64  `tfsdk:"start_check_end_time"`
}

func (m jobProcessModel) toAPI() job.Info {
	return job.Info{
		ProcName:            m.ProcName.ValueString(),
		SetupPath:           m.SetupPath.ValueString(),
		PIDPath:             m.PIDPath.ValueString(),
		ValueKey:            given(m.ValueKey),
		ProcOwner:           given(m.ProcOwner),
		Contact:             given(m.Contact),
		Account:             given(m.Account),
		CfgPath:             given(m.CfgPath),
		LogPath:             given(m.LogPath),
		StartCmd:            given(m.StartCmd),
		StopCmd:             given(m.StopCmd),
		RestartCmd:          given(m.RestartCmd),
		ReloadCmd:           given(m.ReloadCmd),
		KillCmd:             given(m.KillCmd),
		FuncID:              given(m.FuncID),
		InstanceID:          given(m.InstanceID),
		Type:                m.Type.ValueInt64Pointer(),
		CycleTime:           m.CycleTime.ValueInt64Pointer(),
		CPULmt:              m.CPULmt.ValueInt64Pointer(),
		MemLmt:              m.MemLmt.ValueInt64Pointer(),
		InstanceNum:         m.InstanceNum.ValueInt64Pointer(),
		OpTimeout:           m.OpTimeout.ValueInt64Pointer(),
		StartCheckBeginTime: m.StartCheckBeginTime.ValueInt64Pointer(),
		StartCheckEndTime:   m.StartCheckEndTime.ValueInt64Pointer(),
	}
}
