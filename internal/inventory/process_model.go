package inventory

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// processModel is a group of processes as an element of a for_each. Its meta, hosts and spec are those of a
// resource.
type processModel struct {
	Meta       metaModel         `tfsdk:"meta"`
	Hosts      map[string]string `tfsdk:"hosts"`
	Spec       specModel         `tfsdk:"spec"`
	Priority   int64             `tfsdk:"priority"`
	ProcessIDs []int64           `tfsdk:"bk_process_ids"`
}

type metaModel struct {
	Namespace string            `tfsdk:"namespace"`
	Name      string            `tfsdk:"name"`
	Labels    map[string]string `tfsdk:"labels"`
}

type specModel struct {
	Identity      identityModel `tfsdk:"identity"`
	Control       controlModel  `tfsdk:"control"`
	MonitorPolicy policyModel   `tfsdk:"monitor_policy"`
}

type identityModel struct {
	ProcName  string `tfsdk:"proc_name"`
	SetupPath string `tfsdk:"setup_path"`
	PIDPath   string `tfsdk:"pid_path"`
	User      string `tfsdk:"user"`
}

// controlModel has null for commands that CMDB does not have.
type controlModel struct {
	StartCmd   types.String `tfsdk:"start_cmd"`
	StopCmd    types.String `tfsdk:"stop_cmd"`
	RestartCmd types.String `tfsdk:"restart_cmd"`
	ReloadCmd  types.String `tfsdk:"reload_cmd"`
	KillCmd    types.String `tfsdk:"kill_cmd"`
}

type policyModel struct {
	AutoType       int64 `tfsdk:"auto_type"`
	StartCheckSecs int64 `tfsdk:"start_check_secs"`
	OpTimeout      int64 `tfsdk:"op_timeout"`
}

// model converts a group for Terraform. GSEKit's label bk_process_id is left out, because it differs between
// the hosts of a group.
func (g *processGroup) model(biz int64) processModel {
	spec := g.declared.spec
	return processModel{
		Meta:  metaModel{Namespace: namespaceOf(biz), Name: g.declared.name, Labels: map[string]string{"bk_process_name": g.first.Name}},
		Hosts: g.hosts,
		Spec: specModel{
			Identity: identityModel{ProcName: spec.procName, SetupPath: spec.setupPath, PIDPath: spec.pidPath, User: spec.user},
			Control: controlModel{
				StartCmd: textOrNull(spec.startCmd), StopCmd: textOrNull(spec.stopCmd), RestartCmd: textOrNull(spec.restartCmd),
				ReloadCmd: textOrNull(spec.reloadCmd), KillCmd: textOrNull(spec.killCmd),
			},
			MonitorPolicy: policyModel{AutoType: residentProcess, StartCheckSecs: spec.startCheckSecs, OpTimeout: spec.opTimeout},
		},
		Priority:   g.declared.priority,
		ProcessIDs: g.ids,
	}
}

func textOrNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}

func processesAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		MarkdownDescription: "Processes by key: `<bk_process_name>_<local_inst_id>`, their name at GSE, and their place as `group_by` says, such as `nginx_1@web`. " +
			"[Only names and places change keys](#keys).",
		Computed: true,
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"meta": computedObject("For `meta` of a resource. The namespace is that of GSEKit, `GSEKIT_BIZ_<bk_biz_id>`.", map[string]schema.Attribute{
				"namespace": computedText("Namespace."),
				"name":      computedText("Name."),
				"labels":    schema.MapAttribute{MarkdownDescription: "Label `bk_process_name`.", ElementType: types.StringType, Computed: true},
			}),
			"hosts": schema.MapAttribute{MarkdownDescription: "For `hosts` of a resource: map of host key to host address.", ElementType: types.StringType, Computed: true},
			"spec": computedObject("For `spec` of a resource.", map[string]schema.Attribute{
				"identity": computedObject("What the process is.", map[string]schema.Attribute{
					"proc_name":  computedText("`bk_func_name`."),
					"setup_path": computedText("`work_path`, rendered."),
					"pid_path":   computedText("`pid_file`, rendered."),
					"user":       computedText("`user`."),
				}),
				"control": computedObject("Commands, rendered. Null where CMDB has none.", map[string]schema.Attribute{
					"start_cmd":   computedText("`start_cmd`."),
					"stop_cmd":    computedText("`stop_cmd`."),
					"restart_cmd": computedText("`restart_cmd`."),
					"reload_cmd":  computedText("`reload_cmd`."),
					"kill_cmd":    computedText("`face_stop_cmd`."),
				}),
				"monitor_policy": computedObject("How the agent hosts it.", map[string]schema.Attribute{
					"auto_type":        computedNumber("Always `1`, a resident process."),
					"start_check_secs": computedNumber("`bk_start_check_secs`, `5` where CMDB has none."),
					"op_timeout":       computedNumber("`timeout`, `60` where CMDB has none."),
				}),
			}),
			"priority":       computedNumber("`priority`, `0` where CMDB has none: GSEKit starts lower ones first."),
			"bk_process_ids": schema.ListAttribute{MarkdownDescription: "IDs of the processes in CMDB.", ElementType: types.Int64Type, Computed: true},
		}},
	}
}

func computedObject(description string, attributes map[string]schema.Attribute) schema.Attribute {
	return schema.SingleNestedAttribute{MarkdownDescription: description, Computed: true, Attributes: attributes}
}

func computedText(description string) schema.Attribute {
	return schema.StringAttribute{MarkdownDescription: description, Computed: true}
}

func computedNumber(description string) schema.Attribute {
	return schema.Int64Attribute{MarkdownDescription: description, Computed: true}
}
