package hostedprocess

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

const importForms = "an import id is `namespace:name`, which finds the hosts on the platform, or `namespace:name@address,address`, " +
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
	if !r.platform.Ready() {
		resp.Diagnostics.Append(r.platform.NotReady())
		return
	}
	var id importID
	if req.ID != "" {
		var err error
		if id, err = parseImportID(req.ID); err != nil {
			resp.Diagnostics.AddError(diagnose.SummaryInvalidImport, diagnose.Sentence(err.Error()))
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
	found := foundProcess{namespace: id.namespace, name: id.name, hosts: make(map[string]string)}
	for _, address := range id.addresses {
		found.hosts[address] = address
	}
	if len(found.hosts) == 0 {
		ctx, cancel := context.WithTimeout(ctx, reference.DefaultReadTimeout)
		defer cancel()
		err := r.platform.GSE.List(ctx, id.namespace, r.platform.Supplier, func(row gse.Row) bool {
			if row.Name == id.name && row.Status.State != fleet.Unregistered {
				found.add(row, r.platform)
			}
			return true
		})
		if unplaced := (*gse.UnplacedError)(nil); errors.As(err, &unplaced) {
			if unplaced.MayHave(id.name) {
				resp.Diagnostics.Append(importUnplaced(found, unplaced))
				return
			}
			err = nil // the rows are of other processes
		}
		if err != nil {
			resp.Diagnostics.Append(diagnose.CallFailed("Unable to Import Hosted Process",
				diagnose.ProcessTitle(id.namespace, id.name)+" could not be looked up.", err))
			return
		}
	}
	if len(found.hosts) == 0 {
		resp.Diagnostics.AddError("Hosted Process Not Found",
			diagnose.ProcessTitle(id.namespace, id.name)+" is not registered on any host. Check the namespace and the name; a registration of the last "+
				"minutes may not be listed yet, and can be imported with its hosts: "+id.namespace+":"+id.name+"@0:10.0.0.1.")
		return
	}
	if _, faults := fleet.NewInventory(found.hosts, r.platform.Supplier); len(faults) > 0 {
		resp.Diagnostics.AddError(diagnose.SummaryInvalidImport, diagnose.Sentence(faults[0].Err.Error()))
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, found.identity())...)
	resp.Diagnostics.Append(found.write(ctx, &resp.State)...)
}
