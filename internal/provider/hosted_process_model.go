package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

type hostedProcessModel struct {
	referenceModel
	lifecycleModel
}

type hostedProcessIdentityModel struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
}

func (m *hostedProcessModel) resourceIdentity(ctx context.Context) (any, diag.Diagnostics) {
	meta, diags := metaToAPI(ctx, m.Meta)
	return hostedProcessIdentityModel{Namespace: types.StringValue(meta.Namespace), Name: types.StringValue(meta.Name)}, diags
}

// complete gives an import the labels that are on file, less those that the
// provider adds, so that a generated configuration has them.
func (m *hostedProcessModel) complete(ctx context.Context, p *platform, report fleet.Report) {
	var labels map[string]string
	for _, status := range report.Cached {
		if len(status.Labels) > len(labels) {
			labels = maps.Clone(status.Labels)
		}
	}
	maps.DeleteFunc(labels, func(key, value string) bool {
		standard, isDefault := p.defaultLabels[key]
		return key == p.fingerprintLabel || (isDefault && standard == value)
	})
	attributes := m.Meta.Attributes()
	attributes["labels"] = types.MapNull(types.StringType)
	if len(labels) > 0 {
		attributes["labels"] = stringMapValue(labels)
	}
	m.Meta = types.ObjectValueMust(m.Meta.AttributeTypes(ctx), attributes)
}
