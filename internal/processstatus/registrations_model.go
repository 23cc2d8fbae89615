package processstatus

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"golang.org/x/text/unicode/norm"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// hostsByNameType has host addresses by process name and host key.
var hostsByNameType = types.MapType{ElemType: types.MapType{ElemType: types.StringType}}

// registrationType is the type of a registration, and processType that of all registrations of a process.
var (
	registrationType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"state":       types.StringType,
		"hosted":      types.BoolType,
		"labels":      types.MapType{ElemType: types.StringType},
		"fingerprint": types.StringType,
		"owner":       types.StringType,
	}}
	processType = types.ObjectType{AttrTypes: map[string]attr.Type{"hosts": types.MapType{ElemType: registrationType}}}
)

// expectedHosts converts expected, or returns nil if it is null. Unknown values are left out. A null value is
// an error: a host that is expected and left out would be an orphan.
func expectedHosts(expected types.Map, supplier int) (map[string]fleet.Inventory, diag.Diagnostics) {
	if expected.IsNull() {
		return nil, nil
	}
	var diags diag.Diagnostics
	byName := make(map[string]fleet.Inventory, len(expected.Elements()))
	for name, element := range expected.Elements() {
		at := path.Root("expected").AtMapKey(name)
		hosts, _ := element.(types.Map)
		if hosts.IsNull() {
			reference.AddInvalid(&diags, at, diagnose.SummaryInvalidHost, "the hosts are null; give the process its hosts or leave it out")
		}
		for key, address := range hosts.Elements() {
			if address.IsNull() {
				reference.AddInvalid(&diags, at.AtMapKey(key), diagnose.SummaryInvalidHost, reference.NullAddress)
			}
		}
		inventory, faults := fleet.NewInventory(maps.All(reference.StringMap(hosts)), supplier)
		for _, fault := range faults {
			reference.AddInvalid(&diags, at.AtMapKey(fault.Key), diagnose.SummaryInvalidHost, fault.Err.Error())
		}
		byName[norm.NFC.String(name)] = inventory
	}
	return byName, diags
}

// expectedValidator checks the known values of expected.
type expectedValidator struct{}

func (expectedValidator) Description(context.Context) string {
	return "every process must have hosts, and every value must be a host address"
}

func (v expectedValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (expectedValidator) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	_, diags := expectedHosts(req.ConfigValue, 0)
	resp.Diagnostics.Append(diags...)
}

// registered has the rows of a namespace by process and host.
type registered map[string]map[fleet.HostID]gse.Row

// spellings has the names that the platform uses, by the name that Terraform makes of them: it normalizes keys
// of maps (NFC).
type spellings map[string]map[string]bool

func (s spellings) add(name string) {
	one := norm.NFC.String(name)
	if s[one] == nil {
		s[one] = make(map[string]bool)
	}
	s[one][name] = true
}

// alike returns the names of which there are several spellings, quoted so that they can be distinguished.
func (s spellings) alike() []string {
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if len(s[name]) < 2 {
			continue
		}
		var spelt []string
		for _, one := range slices.Sorted(maps.Keys(s[name])) {
			spelt = append(spelt, strconv.QuoteToASCII(one))
		}
		rows = append(rows, strings.Join(spelt, " and "))
	}
	return rows
}

// add adds a row under its name as Terraform spells it. If a host has two spellings, the later registration
// counts.
func (r registered) add(row gse.Row) {
	name := norm.NFC.String(row.Name)
	if r[name] == nil {
		r[name] = make(map[fleet.HostID]gse.Row)
	}
	id := row.Host.WithoutSupplier()
	if before, twice := r[name][id]; !twice || before.Status.RegisterTime < row.Status.RegisterTime {
		r[name][id] = row
	}
}

// orphans returns the registered hosts that are not expected, by process name. unclear names those that may be
// expected: the platform gives no other name for them, and an expected host that is named in the other form was
// not found. Addresses have a supplier id if it is not the provider's.
func (r registered) orphans(expected map[string]fleet.Inventory, supplier int) (orphans map[string]map[string]string, unclear []string) {
	orphans = make(map[string]map[string]string)
	for name, rows := range r {
		inventory := expected[name]
		missing := r.missing(name, inventory)
		for _, row := range rows {
			id := row.Host.WithoutSupplier()
			address := id.Address()
			switch {
			case has(inventory, id), has(inventory, row.Other):
			case row.Other == (fleet.HostID{}) && missing[!id.IsAgentID()]:
				unclear = append(unclear, name+" on "+address)
			default:
				if orphans[name] == nil {
					orphans[name] = make(map[string]string)
				}
				orphans[name][address] = address
				if row.Host.SupplierID() != supplier {
					orphans[name][address] = row.Host.String()
				}
			}
		}
	}
	slices.Sort(unclear)
	return orphans, unclear
}

// missing reports whether hosts named by agent id (true) or by address (false) are expected and not found.
func (r registered) missing(name string, expected fleet.Inventory) map[bool]bool {
	found := make(map[fleet.HostID]bool)
	for id, row := range r[name] {
		found[id], found[row.Other] = true, true
	}
	missing := make(map[bool]bool)
	for _, host := range expected.All {
		if id := host.WithoutSupplier(); !found[id] {
			missing[id.IsAgentID()] = true
		}
	}
	return missing
}

func has(inventory fleet.Inventory, id fleet.HostID) bool {
	_, found := inventory.Find(id)
	return found
}

// fromAPI sets the computed values.
func (m *registrationsModel) fromAPI(found registered, expected map[string]fleet.Inventory, unplaced *gse.UnplacedError, p *platform.Platform) diag.Diagnostics {
	var diags diag.Diagnostics
	processes := make(map[string]attr.Value, len(found))
	for name, rows := range found {
		hosts := make(map[string]attr.Value, len(rows))
		for id, row := range rows {
			hosts[id.Address()] = registrationValue(row.Status, p)
		}
		processes[name] = types.ObjectValueMust(processType.AttrTypes, map[string]attr.Value{"hosts": types.MapValueMust(registrationType, hosts)})
	}
	m.Registrations = types.MapValueMust(processType, processes)

	m.Orphans = types.MapNull(hostsByNameType.ElemType)
	if expected != nil {
		orphans, unclear := found.orphans(expected, p.Supplier)
		elements := make(map[string]attr.Value, len(orphans))
		for name, hosts := range orphans {
			elements[name] = reference.StringMapValue(hosts)
		}
		m.Orphans = types.MapValueMust(hostsByNameType.ElemType, elements)
		if len(unclear) > 0 {
			diags.Append(orphansUnclear(unclear))
		}
	}

	names := []attr.Value{}
	if unplaced != nil {
		diags.Append(listedInPart(unplaced))
		for _, name := range unplaced.Processes {
			names = append(names, types.StringValue(name))
		}
	}
	m.Unplaced = types.ListValueMust(types.StringType, names)
	return diags
}

func registrationValue(s fleet.Status, p *platform.Platform) types.Object {
	values := map[string]attr.Value{
		"state":       types.StringValue(string(s.State)),
		"hosted":      types.BoolNull(),
		"labels":      types.MapNull(types.StringType),
		"fingerprint": label(s.Labels, p.FingerprintLabel),
		"owner":       label(s.Labels, p.OwnerLabel()),
	}
	if s.HostedKnown {
		values["hosted"] = types.BoolValue(s.Hosted)
	}
	if s.Labels != nil {
		values["labels"] = reference.StringMapValue(maps.Clone(s.Labels))
	}
	return types.ObjectValueMust(registrationType.AttrTypes, values)
}

// label returns the value of a label, null if the label is turned off, missing or empty.
func label(labels map[string]string, name string) types.String {
	if name == "" || labels[name] == "" {
		return types.StringNull()
	}
	return types.StringValue(labels[name])
}
