package hostedprocess

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// foundProcess is a hosted process as the platform lists it: all but the spec,
// which no API returns.
type foundProcess struct {
	namespace, name string
	hosts           map[string]string // by address
	labels          map[string]string
}

func (f *foundProcess) id() string { return f.namespace + ":" + f.name }

func (f *foundProcess) identity() hostedProcessIdentityModel {
	return hostedProcessIdentityModel{Namespace: types.StringValue(f.namespace), Name: types.StringValue(f.name)}
}

// add takes a row of the listing. A host that has another supplier id than the
// provider's keeps it in its address.
func (f *foundProcess) add(row gse.Row, p *platform.Platform) {
	address := row.Host.Address()
	if row.Host.SupplierID() != p.Supplier {
		address = row.Host.String()
	}
	f.hosts[row.Host.Address()] = address
	if own := p.OwnLabels(row.Status.Labels); len(own) > len(f.labels) {
		f.labels = own
	}
}

// attributeWriter is a state, or a resource in a list.
type attributeWriter interface {
	SetAttribute(ctx context.Context, at path.Path, value any) diag.Diagnostics
}

// write fills in what is known. What has a default takes it, so that the first
// plan is about the spec.
func (f *foundProcess) write(ctx context.Context, to attributeWriter) diag.Diagnostics {
	var diags diag.Diagnostics
	for name, value := range map[string]any{
		"id":                f.id(),
		"ensure":            string(fleet.EnsureHosted),
		"on_partial_create": string(reference.PartialWarn),
		"on_destroy":        string(fleet.DestroyUnregister),
		"hosts":             reference.NewHostMap(f.hosts),
		"out_of_sync":       map[string]string{},
	} {
		diags.Append(to.SetAttribute(ctx, path.Root(name), value)...)
	}
	meta := path.Root("meta")
	diags.Append(to.SetAttribute(ctx, meta.AtName("namespace"), f.namespace)...)
	diags.Append(to.SetAttribute(ctx, meta.AtName("name"), f.name)...)
	if len(f.labels) > 0 {
		diags.Append(to.SetAttribute(ctx, meta.AtName("labels"), f.labels)...)
	}
	return diags
}

// isListed tells whether a row is of a process that is there and whose name is
// asked for. A platform may keep rows of what was unregistered.
func isListed(row gse.Row, prefix string) bool {
	return row.Status.State != fleet.Unregistered && strings.HasPrefix(row.Name, prefix)
}
