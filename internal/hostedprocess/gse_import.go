package hostedprocess

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

const importForms = "an import id is `namespace:name`, which finds the hosts on the platform, or `namespace:name@address,address`, " +
	"such as `web:nginx@0:10.0.0.1,0:10.0.0.2`, or with host keys `web:nginx@web-1=0:10.0.0.1,web-2=0:10.0.0.2`"

// importID is an import id taken apart: the namespace up to the first colon, the
// name up to the first `@`, and addresses by host key, which is the address unless the id
// gives one.
type importID struct {
	namespace, name string
	hosts           map[string]string
}

func parseImportID(id string) (importID, error) {
	process, hosts, named := strings.Cut(id, "@")
	namespace, name, found := strings.Cut(process, ":")
	if !found || namespace == "" || name == "" || strings.ContainsAny(process, " \t\r\n") {
		return importID{}, fmt.Errorf("%q is not an import id; %s", id, importForms)
	}
	parsed := importID{namespace: namespace, name: name, hosts: make(map[string]string)}
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
			return importID{}, fmt.Errorf("%q names an empty address or key; %s", id, importForms)
		}
		if other, taken := parsed.hosts[key]; taken && other != address {
			return importID{}, fmt.Errorf("%q gives the key %q to two hosts; %s", id, key, importForms)
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
	found := newFoundProcess(id.namespace, id.name)
	maps.Copy(found.hosts, id.hosts)
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
				resp.Diagnostics.Append(importUnplaced(*found, unplaced))
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
