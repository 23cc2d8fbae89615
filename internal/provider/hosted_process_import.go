package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
)

const importForms = "An import id is `namespace:name`, which finds the hosts on the platform, or `namespace:name@address,address`, " +
	"such as `web:nginx@0:10.0.0.1,0:10.0.0.2`"

// importID is an import id taken apart: the namespace up to the first colon, the
// name up to the first `@`, and addresses.
type importID struct {
	namespace, name string
	addresses       []string
}

func parseImportID(id string) (importID, error) {
	process, hosts, named := strings.Cut(id, "@")
	namespace, name, found := strings.Cut(process, ":")
	if !found || namespace == "" || name == "" || strings.ContainsAny(process, " \t\r\n") {
		return importID{}, fmt.Errorf("%q is not an import id; %s", id, importForms)
	}
	parsed := importID{namespace: namespace, name: name}
	if !named {
		return parsed, nil
	}
	for address := range strings.SplitSeq(hosts, ",") {
		if address = strings.TrimSpace(address); address == "" {
			return importID{}, fmt.Errorf("%q names an empty address; %s", id, importForms)
		}
		parsed.addresses = append(parsed.addresses, address)
	}
	return parsed, nil
}

func (r *hostedProcessResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if !r.platform.ready() {
		resp.Diagnostics.Append(notReady(r.platform))
		return
	}
	var id importID
	if req.ID != "" {
		var err error
		if id, err = parseImportID(req.ID); err != nil {
			resp.Diagnostics.AddError(summaryInvalidImport, sentence(err.Error()))
			return
		}
	} else {
		var identity hostedProcessIdentityModel
		resp.Diagnostics.Append(req.Identity.Get(ctx, &identity)...)
		id.namespace, id.name = identity.Namespace.ValueString(), identity.Name.ValueString()
	}
	if resp.Diagnostics.HasError() {
		return
	}
	hosts := make(map[string]string)
	for _, address := range id.addresses {
		hosts[address] = address
	}
	if len(hosts) == 0 {
		ctx, cancel := context.WithTimeout(ctx, defaultReadTimeout)
		defer cancel()
		err := r.platform.gse.List(ctx, id.namespace, r.platform.supplier, func(row gse.Row) bool {
			if row.Name == id.name && row.Status.State != fleet.Unregistered {
				address := row.Host.Address()
				if row.Host.SupplierID() != r.platform.supplier {
					address = row.Host.String()
				}
				hosts[row.Host.Address()] = address
			}
			return true
		})
		if err != nil {
			resp.Diagnostics.Append(callDiagnostic("Unable to Import Hosted Process",
				quotedProcess(id.namespace, id.name)+" could not be looked up.", err))
			return
		}
	}
	if len(hosts) == 0 {
		resp.Diagnostics.AddError("Hosted Process Not Found",
			quotedProcess(id.namespace, id.name)+" is not registered on any host. Check the namespace and the name; a registration of the last "+
				"minutes may not be listed yet, and can be imported with its hosts: "+id.namespace+":"+id.name+"@0:10.0.0.1.")
		return
	}
	if _, faults := fleet.NewRoster(hosts, r.platform.supplier); len(faults) > 0 {
		resp.Diagnostics.AddError(summaryInvalidImport, sentence(faults[0].Err.Error()))
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, hostedProcessIdentityModel{
		Namespace: types.StringValue(id.namespace), Name: types.StringValue(id.name),
	})...)
	// The spec cannot be read back from the platform, so it stays null until the
	// first apply. What has a default takes it, so that the plan is about the spec.
	for name, value := range map[string]string{
		"id":                id.namespace + ":" + id.name,
		"ensure":            string(fleet.EnsureHosted),
		"on_partial_create": string(partialWarn),
		"on_destroy":        string(fleet.DestroyUnregister),
	} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("meta").AtName("namespace"), id.namespace)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("meta").AtName("name"), id.name)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("hosts"), hosts)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("out_of_sync"), map[string]string{})...)
}
