package inventory

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ datasource.DataSource                     = (*processesDataSource)(nil)
	_ datasource.DataSourceWithConfigure        = (*processesDataSource)(nil)
	_ datasource.DataSourceWithConfigValidators = (*processesDataSource)(nil)
)

// NewProcessesDataSource returns bk_cmdb_processes.
func NewProcessesDataSource() datasource.DataSource { return &processesDataSource{} }

type processesDataSource struct{ asker }

type processesModel struct {
	question
	ProcessName types.String     `tfsdk:"process_name"`
	ProcessIDs  []int64          `tfsdk:"bk_process_ids"`
	InstIDs     map[string]int64 `tfsdk:"inst_ids"`
	GroupBy     types.String     `tfsdk:"group_by"`

	Processes map[string]processModel `tfsdk:"processes"`
}

func (d *processesDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_cmdb_processes"
}

func (d *processesDataSource) Schema(ctx context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := questionAttributes(ctx)
	attributes["process_name"] = expressionAttribute("Expression for the names of processes (`bk_process_name`). One that no process in scope matches is an error.")
	attributes["bk_process_ids"] = schema.ListAttribute{
		MarkdownDescription: "Processes in scope by their IDs in CMDB. One that is not in scope is an error.",
		ElementType:         reference.WholeNumber{},
		Optional:            true,
		Validators:          []validator.List{reference.NoNulls{}, listvalidator.SizeAtLeast(1), listvalidator.UniqueValues(), listvalidator.ValueInt64sAre(int64validator.AtLeast(1))},
	}
	attributes["inst_ids"] = schema.MapAttribute{
		MarkdownDescription: "`inst_id` of the first instance of a process, by its ID in CMDB; further instances on the host count on. GSEKit keeps these numbers to " +
			"itself, so templates with `" + strings.Join(instIDNames, "`, `") + "` are an error without it.",
		ElementType: reference.WholeNumber{},
		Optional:    true,
		Validators:  []validator.Map{reference.NoNulls{}, mapvalidator.KeysAre(processID), mapvalidator.ValueInt64sAre(int64validator.AtLeast(1))},
	}
	attributes["group_by"] = schema.StringAttribute{
		MarkdownDescription: "What one element of `processes` is: a process on all hosts (`name`), in modules of one name (`module`), in one module of a set (`set`), " +
			"on one host (`process`). Defaults to `" + defaultGroupBy + "`. Hosts of one element that differ in spec or priority are an error.",
		Optional:   true,
		Validators: []validator.String{stringvalidator.OneOf(groupingNames()...)},
	}
	attributes["processes"] = processesAttribute()
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads from CMDB the processes of a business, as GSEKit and BSCP host them. Use it in the `for_each` of resources, which with " +
			"`adopt_existing = true` take them over. In paths and commands, `${name}` is rendered for the names that GSEKit documents; any other template " +
			"syntax is an error that names the process and the field. An answer that is not whole is an error, never fewer processes.",
		Attributes: attributes,
	}
}

func (d *processesDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var config processesModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(config.read(ctx, d.platform)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, config)...)
	}
}

// processID accepts the ID of a process.
var processID = stringvalidator.RegexMatches(regexp.MustCompile(`^[1-9][0-9]*$`), "must be the bk_process_id of a process, such as 42")

// read reads the processes from CMDB and sets the computed values.
func (m *processesModel) read(ctx context.Context, p *platform.Platform) diag.Diagnostics {
	scope, limit, diags := m.ask(ctx, p)
	if diags.HasError() {
		return diags
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	all, said := readProcesses(ctx, p.CMDB, scope)
	diags.Append(said...)
	if diags.HasError() {
		return diags
	}
	all, err := m.wanted(scope.Business, all)
	if err != nil {
		diags.Append(selectFailed(scope.Business, err))
		return diags
	}
	hosts := hostsOf(all)
	if least := m.least(); int64(len(hosts)) < least {
		diags.Append(tooFewOf("hosts with such processes", scope.Business, len(hosts), len(hosts), least))
		return diags
	}
	found := newInventory(hosts, m.naming(p.Gateway))
	groups := newProcessGroups(all, found, m.InstIDs, m.groupBy())
	diags.Append(found.faults()...)
	diags.Append(groups.faults()...)
	m.Processes = make(map[string]processModel, len(groups.groups))
	for key, group := range groups.groups {
		m.Processes[key] = group.model(scope.Business)
	}
	return diags
}

// readProcesses reads the processes of a scope from CMDB. If the platform refuses the API that returns them in
// one piece, it reads them from the service instances, with more calls.
func readProcesses(ctx context.Context, c *cmdb.Client, scope cmdb.Scope) ([]cmdb.Process, diag.Diagnostics) {
	all, err := c.Processes(ctx, scope)
	switch {
	case err == nil:
		return all, nil
	case !cmdb.IsProcessInfoRefused(err):
		return nil, diag.Diagnostics{selectFailed(scope.Business, err)}
	}
	all, failed := c.ProcessesOfInstances(ctx, scope)
	if failed != nil {
		return nil, diag.Diagnostics{selectFailed(scope.Business, err), selectFailed(scope.Business, failed)}
	}
	return all, nil
}

// wanted returns the processes that the configuration selects. CMDB may ignore the filter, so it is applied
// here as well.
func (m *processesModel) wanted(biz int64, all []cmdb.Process) ([]cmdb.Process, error) {
	names, err := parseExpression(m.ProcessName)
	if err != nil {
		return nil, err
	}
	if names != nil {
		// One without a name may be any of them. It is reported as unusable.
		matching := slices.DeleteFunc(slices.Clone(all), func(p cmdb.Process) bool { return p.Name != "" && !names.Match(p.Name) })
		if len(matching) == 0 && len(all) > 0 {
			return nil, &cmdb.UnknownError{What: "process", Name: fmt.Sprintf("%q in this scope", names), Business: biz, Nearby: processNames(all)}
		}
		all = matching
	}
	if m.ProcessIDs == nil {
		return all, nil
	}
	all = slices.DeleteFunc(slices.Clone(all), func(p cmdb.Process) bool { return !slices.Contains(m.ProcessIDs, p.ID) })
	var missing []string
	for _, id := range m.ProcessIDs {
		if !slices.ContainsFunc(all, func(p cmdb.Process) bool { return p.ID == id }) {
			missing = append(missing, fmt.Sprint(id))
		}
	}
	if len(missing) > 0 {
		return nil, &cmdb.UnknownError{What: "process id", Name: strings.Join(missing, ", ") + " in this scope", Business: biz}
	}
	return all, nil
}

// groupBy returns group_by, with the default.
func (m *processesModel) groupBy() string {
	if m.GroupBy.IsNull() {
		return defaultGroupBy
	}
	return m.GroupBy.ValueString()
}

func processNames(all []cmdb.Process) []string {
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// hostsOf returns the hosts of processes, without duplicates.
func hostsOf(all []cmdb.Process) []cmdb.Host {
	var hosts []cmdb.Host
	seen := make(map[int64]bool)
	for _, p := range all {
		if !seen[p.Host.ID] {
			seen[p.Host.ID] = true
			hosts = append(hosts, p.Host)
		}
	}
	return hosts
}
