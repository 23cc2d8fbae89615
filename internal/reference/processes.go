package reference

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fold"
)

// Processes is Model for an object that may have several processes.
type Processes interface {
	// Entries returns the processes, sorted by name. known is false while the processes or their
	// priorities are unknown.
	Entries(ctx context.Context) (entries []Entry, known bool)
	// KeepHosts reduces each process to these hosts, given by its name, and removes processes that hosts
	// lacks.
	KeepHosts(ctx context.Context, hosts map[string]HostMap)
	// CheckOnce refuses a process that is given in two forms. It repeats what validators do, for which some
	// values may have been unknown.
	CheckOnce(ctx context.Context) diag.Diagnostics
}

// Entry is one process of an object.
type Entry struct {
	Model
	// Name is the key of the process in processes, "" for the process of an object without processes.
	Name     string
	Priority int64
}

// HostKey returns the key in failed_hosts of a host of the process.
func (e Entry) HostKey(key string) string { return HostKey(e.Name, key) }

// HostKey returns the key in failed_hosts of a host. process is the name in processes, or "".
func HostKey(process, key string) string {
	if process == "" {
		return key
	}
	return process + "/" + key
}

// GSEProcesses holds the values of meta, hosts and spec, of process, or of processes, which contains
// several of those.
type GSEProcesses struct {
	GSEModel
	Processes types.Map `tfsdk:"processes"`
}

func (m *GSEProcesses) several() several {
	return several{&m.GSEModel, m.Processes, func() element { return new(GSEModel) }}
}

// Entries implements Processes.
func (m *GSEProcesses) Entries(ctx context.Context) (entries []Entry, known bool) {
	return m.several().entries(ctx)
}

// KeepHosts implements Processes.
func (m *GSEProcesses) KeepHosts(ctx context.Context, hosts map[string]HostMap) {
	m.Processes = m.several().keepHosts(ctx, hosts)
}

// CheckOnce implements Processes.
func (m *GSEProcesses) CheckOnce(ctx context.Context) diag.Diagnostics {
	return m.several().checkOnce(ctx)
}

// JobProcesses holds the values of scope or bk_biz_id, process and hosts, of declaration, or of
// processes, which contains several of those.
type JobProcesses struct {
	JobModel
	Processes types.Map `tfsdk:"processes"`
}

func (m *JobProcesses) several() several {
	return several{&m.JobModel, m.Processes, func() element { return new(JobModel) }}
}

// Entries implements Processes.
func (m *JobProcesses) Entries(ctx context.Context) (entries []Entry, known bool) {
	return m.several().entries(ctx)
}

// KeepHosts implements Processes.
func (m *JobProcesses) KeepHosts(ctx context.Context, hosts map[string]HostMap) {
	m.Processes = m.several().keepHosts(ctx, hosts)
}

// CheckOnce implements Processes.
func (m *JobProcesses) CheckOnce(ctx context.Context) diag.Diagnostics {
	return m.several().checkOnce(ctx)
}

// several holds the values of an object with one or several processes. If processes is null, one applies.
type several struct {
	one       Model
	processes types.Map
	empty     func() element
}

// element is a Model inside processes.
type element interface {
	Model
	// read reads the values of an element at a path. write puts the attributes that contain its current hosts into attributes.
	read(ctx context.Context, at path.Path, attributes map[string]attr.Value)
	write(attributes map[string]attr.Value)
}

func (s several) read(ctx context.Context, name string, object types.Object) element {
	model := s.empty()
	model.read(ctx, path.Root("processes").AtMapKey(name), object.Attributes())
	return model
}

func (s several) entries(ctx context.Context) (entries []Entry, known bool) {
	if s.processes.IsNull() {
		return []Entry{{Model: s.one}}, true
	}
	known = !s.processes.IsUnknown()
	for _, name := range slices.Sorted(maps.Keys(s.processes.Elements())) {
		object, _ := s.processes.Elements()[name].(types.Object)
		if object.IsUnknown() {
			known = false
			continue
		}
		priority, _ := object.Attributes()["priority"].(types.Int64)
		known = known && !priority.IsUnknown()
		entries = append(entries, Entry{Model: s.read(ctx, name, object), Name: name, Priority: priority.ValueInt64()})
	}
	return entries, known
}

func (s several) checkOnce(ctx context.Context) diag.Diagnostics {
	values, d := s.one.given()
	values["processes"] = s.processes
	diags := append(d.inPlaceOf("processes", saysWhich, values), d.once(path.Empty(), values)...)
	entries, _ := s.entries(ctx)
	for _, entry := range entries {
		if entry.Name != "" {
			values, _ = entry.given()
			diags.Append(d.once(entry.base(), values)...)
		}
	}
	return diags
}

// keepHosts returns the remaining processes.
func (s several) keepHosts(ctx context.Context, hosts map[string]HostMap) types.Map {
	if s.processes.IsNull() {
		s.one.SetHosts(ctx, hosts[""])
		return s.processes
	}
	kept := make(map[string]attr.Value)
	for name, value := range s.processes.Elements() {
		object, _ := value.(types.Object)
		left, keeps := hosts[name]
		if !keeps {
			continue
		}
		model, attributes := s.read(ctx, name, object), object.Attributes()
		model.SetHosts(ctx, left)
		model.write(attributes)
		kept[name] = types.ObjectValueMust(object.AttributeTypes(ctx), attributes)
	}
	return types.MapValueMust(s.processes.ElementType(ctx), kept)
}

// SameProcesses reports whether two objects name the same processes on the same hosts, in the same order
// and in the same form.
func SameProcesses(ctx context.Context, a, b Processes) bool {
	ours, known := a.Entries(ctx)
	theirs, _ := b.Entries(ctx)
	return known && slices.EqualFunc(ours, theirs, func(x, y Entry) bool {
		return x.Name == y.Name && x.Priority == y.Priority && SameReference(ctx, x, y)
	})
}

// CheckEntries reports a process that two entries have on one machine, and two hosts that have the same key
// in failed_hosts. Unknown values pass.
func CheckEntries(ctx context.Context, entries []Entry) diag.Diagnostics {
	type place struct {
		process string
		host    fleet.HostID
	}
	var (
		diags  diag.Diagnostics
		places = make(map[place]string)
		keys   = make(map[string]string)
	)
	for _, entry := range entries {
		id := entry.onHost(ctx)
		inventory, _ := InventoryOf(entry.HostsMap(ctx), 0) // another check reports invalid addresses
		for key, host := range inventory.All {
			at := entry.base().AtName("hosts").AtMapKey(key)
			key := entry.HostKey(key)
			if other, taken := keys[key]; taken {
				AddInvalid(&diags, at, "Ambiguous Name", fmt.Sprintf("its key in failed_hosts, <process>/<host>, would be %q, like that of a host of the process %q; rename one of them", key, other))
			}
			keys[key] = entry.Name
			if id.IsUnknown() {
				continue
			}
			where := place{id.ValueString(), host.WithoutSupplier()}
			if other, taken := places[where]; taken {
				AddInvalid(&diags, at, "Process Given Twice", fmt.Sprintf("the entry %q has the process %s on %s already; name each process once on each host",
					other, where.process, host.Address()))
			}
			places[where] = entry.Name
		}
	}
	return diags
}

// processesAttribute declares processes. parts are the attributes of an entry besides hosts. together
// describes how processes of equal priority run. more is a sentence that begins with a space, or "".
func processesAttribute(d declaration, parts map[string]schema.Attribute, together, more string) schema.MapNestedAttribute {
	process := d.accepted()
	process.Validators = nil // the entry is checked as a whole
	attributes := maps.Clone(parts)
	attributes[d.name] = process
	attributes[hostsPart] = nestedHosts()
	attributes["priority"] = schema.Int64Attribute{
		CustomType:          WholeNumber{},
		MarkdownDescription: "Place in the order: a whole number from 0. The lowest is started first, and stopped and restarted last.",
		Required:            true,
		Validators:          []validator.Int64{int64validator.AtLeast(0)},
	}
	return schema.MapNestedAttribute{
		MarkdownDescription: "Several processes in place of " + d.instead + ": a process and its `priority` by a name of your choice." + more +
			" Processes of equal priority run together, " + together + ". See [Several processes](../guides/rollouts.md#several-processes).",
		Optional:   true,
		Validators: []validator.Map{entryNames{}},
		NestedObject: schema.NestedAttributeObject{
			Validators: []validator.Object{entryValidator{d}},
			Attributes: attributes,
		},
	}
}

// nestedHosts declares hosts that are not at the root.
func nestedHosts() schema.MapAttribute {
	return schema.MapAttribute{
		MarkdownDescription: "Map of host key to host address, like the `hosts` of an object with one process.",
		ElementType:         types.StringType,
		Optional:            true,
		Validators:          []validator.Map{entryHosts{}},
	}
}

// orSeveral is accepted for objects that may also have several processes.
func (d declaration) orSeveral() schema.StringAttribute {
	process := d.accepted()
	process.MarkdownDescription += " Or set `processes`."
	d.several = "processes"
	process.Validators = []validator.String{insteadValidator{declarationValidator{declaration: d}, "processes", saysWhich}}
	return process
}

// saysWhich describes the attribute processes in messages.
const saysWhich = "says which processes the operation is for"

// insteadValidator requires a declaration, its required parts, or the attribute that replaces both.
type insteadValidator struct {
	declarationValidator

	name, says string
}

func (v insteadValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	values, diags := v.valuesIn(ctx, req, v.name)
	resp.Diagnostics.Append(diags...)
	switch instead := values[v.name]; {
	case instead == nil || instead.IsNull():
		v.declarationValidator.ValidateString(ctx, req, resp)
	case instead.IsUnknown(): // it may turn out to be null
		resp.Diagnostics.Append(v.once(path.Empty(), values)...)
	default:
		resp.Diagnostics.Append(v.inPlaceOf(v.name, v.says, values)...)
	}
}

// entryNames requires at least one process, and that each has a name.
type entryNames struct{}

func (entryNames) Description(context.Context) string {
	return "must have a process, and every process a name"
}

func (v entryNames) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (entryNames) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	if !req.ConfigValue.IsNull() && !req.ConfigValue.IsUnknown() && len(req.ConfigValue.Elements()) == 0 {
		AddInvalid(&resp.Diagnostics, req.Path, "Invalid Process", "there is no process in it; name at least one")
	}
	for name, element := range req.ConfigValue.Elements() {
		switch {
		case strings.TrimSpace(name) == "":
			AddInvalid(&resp.Diagnostics, req.Path.AtMapKey(name), "Invalid Process", "the name is empty; give the process a name of your choice, by which messages and results call it")
		case !IsPrintable(name):
			AddInvalid(&resp.Diagnostics, req.Path.AtMapKey(name), "Invalid Process", notPrintable("the name", name))
		case element.IsNull():
			AddInvalid(&resp.Diagnostics, req.Path.AtMapKey(name), "Invalid Process", "the process is null; leave it out")
		}
	}
}

// entryHosts checks the hosts of an entry as hostsValidator checks those of an object.
type entryHosts struct{}

func (entryHosts) Description(ctx context.Context) string { return hostsValidator{}.Description(ctx) }

func (v entryHosts) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (entryHosts) ValidateMap(ctx context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	diags := checkHostMap(req.Path, fold.MapOf(ctx, req.ConfigValue))
	resp.Diagnostics.Append(diags...)
}

// entryValidator requires an entry to have a process, or its parts.
type entryValidator struct{ declaration }

func (v entryValidator) Description(context.Context) string {
	return "must have " + v.name + ", or " + v.plainly()
}

func (v entryValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v entryValidator) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	v.check(&resp.Diagnostics, req.Path, req.ConfigValue.Attributes(), nil)
}

// checkCanary rejects a canary that is not among keys.
func checkCanary(keys map[string]bool, rollout types.Object) diag.Diagnostics {
	var diags diag.Diagnostics
	canary, _ := rollout.Attributes()["canary"].(types.List)
	for i, element := range canary.Elements() {
		key, _ := element.(types.String)
		if !key.IsUnknown() && !keys[key.ValueString()] {
			AddInvalid(&diags, path.Root("rollout").AtName("canary").AtListIndex(i), "Invalid Canary",
				fmt.Sprintf("%q is not the key of a host in hosts. A canary is named by its key", key.ValueString()))
		}
	}
	return diags
}

// CheckRolloutOf is CheckRollout for the hosts of several processes.
func CheckRolloutOf(ctx context.Context, entries []Entry, rollout types.Object) diag.Diagnostics {
	keys := make(map[string]bool)
	for _, entry := range entries {
		if entry.HostsMap(ctx).IsUnknown() {
			return nil
		}
		for key := range entry.HostsMap(ctx).All() {
			keys[key] = true
		}
	}
	return checkCanary(keys, rollout)
}

// AddMissingSpec adds the error for a process without a spec, which cannot be operated.
func AddMissingSpec(diags *diag.Diagnostics, m Model) {
	AddInvalid(diags, m.base().AtName("process"), "Missing Spec", "it was imported and not applied yet, and so has no spec; apply the bk_hosted_process first")
}

// NoHosts returns the error for an operation without hosts.
func NoHosts(m Model) diag.Diagnostics {
	var diags diag.Diagnostics
	AddInvalid(&diags, m.base().AtName("hosts"), diagnose.SummaryInvalidHost, "there is no host to run the operation on")
	return diags
}
