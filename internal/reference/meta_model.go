package reference

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/blueking/terraform-provider-bk/internal/gse"
)

type metaModel struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
	Labels    types.Map    `tfsdk:"labels"`
}

// MetaToAPI converts meta. The labels are the object's own, without the provider's
// default labels and fingerprint.
func MetaToAPI(ctx context.Context, meta types.Object) (gse.Meta, diag.Diagnostics) {
	var m metaModel
	diags := meta.As(ctx, &m, basetypes.ObjectAsOptions{})
	if diags.HasError() {
		return gse.Meta{}, diags
	}
	return gse.Meta{Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString(), Labels: StringMap(m.Labels)}, diags
}
