package hostedprocess

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

const importForms = "an import id is `namespace:name`, which finds the hosts on the platform, or `namespace:name@address,address`, " +
	"such as `web:nginx@0:10.0.0.1,0:10.0.0.2`, or with host keys `web:nginx@web-1=0:10.0.0.1,web-2=0:10.0.0.2`"

// parseImportID returns what an import id names. The namespace ends at the first colon, the name at the first `@`.
// The key of a host is its address unless the id gives one.
func parseImportID(id string) (*foundProcess, error) {
	namespace, rest, _ := strings.Cut(id, ":")
	name, hosts, named := strings.Cut(rest, "@")
	if namespace == "" || name == "" || strings.ContainsAny(namespace+name, " \t\r\n") {
		return nil, fmt.Errorf("%q is not an import id; %s", id, importForms)
	}
	parsed := newFoundProcess(namespace, name)
	if !named {
		return parsed, nil
	}
	for host := range strings.SplitSeq(hosts, ",") {
		key, address, keyed := strings.Cut(host, "=")
		if key = strings.TrimSpace(key); !keyed {
			address = key
		}
		address = strings.TrimSpace(address)
		if key == "" || address == "" {
			return nil, fmt.Errorf("%q names an empty address or key; %s", id, importForms)
		}
		if other, taken := parsed.hosts[key]; taken && other != address {
			return nil, fmt.Errorf("%q gives the key %q to two hosts; %s", id, key, importForms)
		}
		parsed.hosts[key] = address
	}
	return parsed, nil
}

func (r *hostedProcessResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if !r.platform.Ready() {
		resp.Diagnostics.Append(r.platform.NotReady())
		return
	}
	var found *foundProcess
	if req.ID != "" {
		var err error
		if found, err = parseImportID(req.ID); err != nil {
			resp.Diagnostics.AddError(diagnose.SummaryInvalidImport, diagnose.Sentence(err.Error()))
			return
		}
	} else {
		var identity hostedProcessIdentityModel
		if resp.Diagnostics.Append(req.Identity.Get(ctx, &identity)...); resp.Diagnostics.HasError() {
			return
		}
		found = newFoundProcess(identity.Namespace.ValueString(), identity.Name.ValueString())
	}
	listed := len(found.hosts) == 0
	if listed {
		resp.Diagnostics.Append(found.list(ctx, r.platform)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	named, faults := fleet.NewInventory(maps.All(found.hosts), r.platform.Supplier)
	if len(faults) > 0 {
		resp.Diagnostics.AddError(diagnose.SummaryInvalidImport, diagnose.Sentence(faults[0].Err.Error()))
		return
	}
	if !listed {
		resp.Diagnostics.Append(r.checkNamed(ctx, found, named)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, found.identity())...)
	resp.Diagnostics.Append(readSpecs(ctx, r.platform, found)...)
	resp.Diagnostics.Append(found.write(ctx, &resp.State, r.platform)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("owner"), found.owner(r.platform))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("bk_supplier_id"), supplierValue(r.platform.Supplier))...)
	if carried := found.carried(r.platform.FingerprintLabel); found.spec == nil && len(carried) > 0 {
		fingerprint := slices.Max(slices.Collect(maps.Keys(carried))) // of several always the same one
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("fingerprint"), fingerprint)...)
	}
	if _, differing := found.shared(r.platform); len(differing) > 0 {
		resp.Diagnostics.Append(labelsDiffer(found.title(), differing))
	}
}

// list finds the hosts of the process on the platform.
func (f *foundProcess) list(ctx context.Context, p *platform.Platform) diag.Diagnostics {
	ctx, cancel := context.WithTimeout(ctx, reference.DefaultReadTimeout)
	defer cancel()
	rows, err := p.GSE.List(ctx, f.namespace, p.Supplier)
	unplaced := (*gse.UnplacedError)(nil)
	switch {
	case err != nil && !errors.As(err, &unplaced):
		return diag.Diagnostics{diagnose.CallFailed("Unable to Import Hosted Process", f.title()+" could not be looked up.", err)}
	case err != nil && unplaced.MayHave(f.name): // otherwise the rows are of other processes
		return diag.Diagnostics{importUnplaced(f, unplaced)}
	}
	for _, row := range rows {
		if row.Name == f.name {
			f.add(row, p)
		}
	}
	if len(f.hosts) == 0 {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Hosted Process Not Found", f.title()+" is not registered on any host. "+listedLate)}
	}
	return nil
}

// readSpecs reads from the agents what they host of the processes, if the provider has verify = "agent". A
// process gets a spec if all of its hosts whose spec is known agree on one. It warns of what is not imported.
func readSpecs(ctx context.Context, p *platform.Platform, processes ...*foundProcess) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, found := range processes {
		diags.Append(importEarlier(found)...)
	}
	if p.Verify != fleet.VerifyAgent {
		return diags
	}
	ctx, cancel := context.WithTimeout(ctx, reference.DefaultReadTimeout)
	defer cancel()
	all := make(map[fleet.Host]bool)
	inventories := make([]fleet.Inventory, len(processes))
	for i, found := range processes {
		inventories[i], _ = fleet.NewInventory(maps.All(found.hosts), p.Supplier) // was checked before
		for _, host := range inventories[i].Hosts() {
			all[host] = true
		}
	}
	readings := readHosted(ctx, p, slices.Collect(maps.Keys(all)))
	for i, found := range processes {
		diags.Append(found.hostedAs(inventories[i], readings)...)
	}
	return diags
}

// readHosted reads what agents host, on any operating system. Hosts whose file the script for Linux did
// not read are tried with the one for Windows.
func readHosted(ctx context.Context, p *platform.Platform, hosts []fleet.Host) map[fleet.Host]hostedspec.Reading {
	first, cancel := context.WithTimeout(ctx, reference.DefaultReadTimeout/2) // leaves time for Windows
	defer cancel()
	readings := p.ReadHosted(first, hosts, false)
	unread := fleet.Where(hosts, func(host fleet.Host) bool { return readings[host].Why != "" })
	if len(unread) == 0 {
		return readings
	}
	for host, reading := range p.ReadHosted(ctx, unread, true) {
		if reading.Why == "" {
			readings[host] = reading
		}
	}
	return readings
}

// hostedAs takes the spec from readings, or warns why it cannot.
func (f *foundProcess) hostedAs(hosts fleet.Inventory, readings map[fleet.Host]hostedspec.Reading) diag.Diagnostics {
	unread, by := make(fleet.Results), make(map[hostedspec.Entry][]string)
	for key, host := range hosts.All {
		reading := readings[host]
		if reading.Why != "" {
			unread[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: reading.Why}
		}
		for _, e := range reading.Entries {
			switch own := e.Namespace == f.namespace && e.Name == f.name; {
			case own && e.Why != "":
				unread[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: e.Why}
			case own:
				e.LastOperation, e.WrittenAt = 0, 0
				by[e] = append(by[e], key)
			}
		}
	}
	var diags diag.Diagnostics
	if len(unread) > 0 {
		diags.AddWarning("Hosted Spec Not Read", fmt.Sprintf("%s: what its agents host could not be read on %s. spec is what the others host; it is not imported if "+
			"there are none.\n\n%s", f.title(), diagnose.CountHosts(len(unread), hosts.Len()), diagnose.Rows(hosts, unread)))
	}
	switch len(by) {
	case 0:
	case 1:
		for e := range by {
			f.spec = &e
		}
	default:
		var rows []string
		for _, keys := range by {
			slices.SortFunc(keys, fleet.CompareKeys)
			rows = append(rows, diagnose.Keys(keys))
		}
		slices.Sort(rows)
		diags.AddWarning("Specs Differ From Host To Host", fmt.Sprintf("%s is hosted with %d different specs, so spec is not imported. The hosts of each:\n\n  %s\n\n"+
			"The data source bk_hosted_specs shows the fields. To import a resource for each spec, name its hosts: namespace:name@address,address.",
			f.title(), len(by), strings.Join(rows, "\n  ")))
	}
	return diags
}

// checkNamed notes the labels of the registrations, and reports the hosts of an import on which the process is
// not registered.
func (r *hostedProcessResource) checkNamed(ctx context.Context, found *foundProcess, named fleet.Inventory) diag.Diagnostics {
	ctx, cancel := context.WithTimeout(ctx, reference.DefaultReadTimeout)
	defer cancel()
	cached, err := r.platform.GSE.Process(gse.Meta{Namespace: found.namespace, Name: found.name}, nil).CachedStatus(ctx, named.Hosts())
	if err != nil {
		return diag.Diagnostics{diagnose.CallFailed("Unable to Import Hosted Process", found.title()+" could not be looked up.", err)}
	}
	var missing []fleet.Host
	for key, host := range named.All {
		status := cached[host]
		if status.State != fleet.Unregistered {
			found.label(status.Labels)
			continue
		}
		missing = append(missing, host)
		found.outOfSync[key] = diagnose.NeverOurs().String()
	}
	if len(missing) == 0 {
		return nil
	}
	return diag.Diagnostics{importMissing(found.title(), named, missing)}
}

// foundProcess is a hosted process as the platform lists it. No API returns spec, so it is nil unless the
// agents were asked for it.
type foundProcess struct {
	namespace, name string
	spec            *hostedspec.Entry
	hosts           map[string]string   // addresses by host key
	labels          []map[string]string // of the registrations whose labels are known
	earlier         []string            // hosts with supplier ids under which they were registered before
	outOfSync       map[string]string   // by host key
}

func newFoundProcess(namespace, name string) *foundProcess {
	return &foundProcess{namespace: namespace, name: name, hosts: make(map[string]string), outOfSync: make(map[string]string)}
}

func (f *foundProcess) id() string    { return f.namespace + ":" + f.name }
func (f *foundProcess) title() string { return diagnose.ProcessTitle(f.namespace, f.name) }

func (f *foundProcess) identity() hostedProcessIdentityModel {
	return hostedProcessIdentityModel{Namespace: types.StringValue(f.namespace), Name: types.StringValue(f.name)}
}

// add adds a row of the list. The address of a host includes its supplier id if that is not the provider's.
func (f *foundProcess) add(row gse.Row, p *platform.Platform) {
	address := row.Host.Address()
	if row.Host.SupplierID() != p.Supplier {
		address = row.Host.String()
	}
	for _, host := range row.Earlier {
		f.earlier = append(f.earlier, host.String())
	}
	f.hosts[row.Host.Address()] = address
	f.label(row.Status.Labels)
}

// label notes the labels of a registration, nil if they are unknown.
func (f *foundProcess) label(labels map[string]string) {
	if labels != nil {
		f.labels = append(f.labels, labels)
	}
}

// carried returns the values of a label in the registrations that have it.
func (f *foundProcess) carried(label string) map[string]bool {
	values := make(map[string]bool)
	for _, labels := range f.labels {
		if value := labels[label]; value != "" {
			values[value] = true
		}
	}
	return values
}

// owner returns the only owner that the registrations name, null if they name none or several. An import
// continues the object that registered them; whoever registers there later is another owner.
func (f *foundProcess) owner(p *platform.Platform) types.String {
	owners := slices.Collect(maps.Keys(f.carried(p.OwnerLabel())))
	if len(owners) != 1 {
		return types.StringNull()
	}
	return types.StringValue(owners[0])
}

// shared returns the user's labels that have the same value on every host, which meta.labels can hold, and the names
// of all others.
func (f *foundProcess) shared(p *platform.Platform) (shared map[string]string, differing []string) {
	shared = make(map[string]string)
	for _, labels := range f.labels {
		maps.Copy(shared, p.OwnLabels(labels))
	}
	for name, value := range shared {
		if slices.ContainsFunc(f.labels, func(labels map[string]string) bool { other, set := labels[name]; return !set || other != value }) {
			differing = append(differing, name)
			delete(shared, name)
		}
	}
	slices.Sort(differing)
	return shared, differing
}

// registeredWith reports whether a registration carries the fingerprint of a spec.
func (f *foundProcess) registeredWith(spec *gse.Spec, p *platform.Platform) bool {
	labels, _ := f.shared(p)
	desired, err := p.Desired(gse.Meta{Namespace: f.namespace, Name: f.name, Labels: labels}, spec, "")
	return err == nil && f.carried(p.FingerprintLabel)[desired.Fingerprint]
}

// attributeWriter is a state, or a resource in a list.
type attributeWriter interface {
	SetAttribute(ctx context.Context, at path.Path, value any) diag.Diagnostics
}

// write fills in what is known. Attributes with a default get it, so that the first plan is about the spec.
func (f *foundProcess) write(ctx context.Context, to attributeWriter, p *platform.Platform) diag.Diagnostics {
	var diags diag.Diagnostics
	for name, value := range map[string]any{
		"id":                f.id(),
		"ensure":            string(fleet.EnsureHosted),
		"on_partial_create": string(reference.PartialWarn),
		"on_destroy":        string(fleet.DestroyUnregister),
		"hosts":             reference.NewHostMap(f.hosts),
		"out_of_sync":       f.outOfSync,
		"unreachable":       map[string]string{},
	} {
		diags.Append(to.SetAttribute(ctx, path.Root(name), value)...)
	}
	meta := path.Root("meta")
	diags.Append(to.SetAttribute(ctx, meta.AtName("namespace"), f.namespace)...)
	diags.Append(to.SetAttribute(ctx, meta.AtName("name"), f.name)...)
	if f.spec != nil {
		diags.Append(to.SetAttribute(ctx, path.Root("spec"), reference.HostedSpec(ctx, *f.spec, func(spec *gse.Spec) bool { return f.registeredWith(spec, p) }))...)
	}
	if shared, _ := f.shared(p); len(shared) > 0 {
		diags.Append(to.SetAttribute(ctx, meta.AtName("labels"), shared)...)
	}
	return diags
}

// labelsDiffer warns of labels that an import leaves out.
func labelsDiffer(title string, differing []string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Labels Differ From Host To Host", fmt.Sprintf("%s is registered with labels that are not the same on all of its hosts: %s. "+
		"meta.labels holds one value for all hosts, so these are left out of state. An update registers a host with the labels that are declared and no "+
		"others: it removes these. The data source bk_registrations shows the labels of each host. Where another tool goes by them, import a resource of its own for "+
		"each value, with the hosts that have it (namespace:name@address,address), and declare the value there; or leave such a process to that tool.",
		title, bkapi.Printable(strings.Join(differing, ", "))))
}
