package provider

import (
	"fmt"

	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// dataSourceAttributes are a resource's attributes as a data source takes them.
// The framework has a set of types for each; writing the long schema of a spec
// twice would let the two drift apart.
func dataSourceAttributes(attributes map[string]resource.Attribute) map[string]datasource.Attribute {
	converted := make(map[string]datasource.Attribute, len(attributes))
	for name, attribute := range attributes {
		converted[name] = dataSourceAttribute(name, attribute)
	}
	return converted
}

func dataSourceAttribute(name string, attribute resource.Attribute) datasource.Attribute {
	switch a := attribute.(type) {
	case resource.StringAttribute:
		return datasource.StringAttribute{MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional, Validators: a.Validators}
	case resource.Int64Attribute:
		return datasource.Int64Attribute{MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional, Validators: a.Validators}
	case resource.Float64Attribute:
		return datasource.Float64Attribute{MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional, Validators: a.Validators}
	case resource.MapAttribute:
		return datasource.MapAttribute{
			MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional,
			ElementType: a.ElementType, Validators: a.Validators,
		}
	case resource.SingleNestedAttribute:
		return datasource.SingleNestedAttribute{
			MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional,
			Attributes: dataSourceAttributes(a.Attributes), Validators: a.Validators,
		}
	case resource.ListNestedAttribute:
		return datasource.ListNestedAttribute{
			MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional,
			NestedObject: datasource.NestedAttributeObject{Attributes: dataSourceAttributes(a.NestedObject.Attributes)}, Validators: a.Validators,
		}
	}
	// A schema is built when the provider starts, so a test meets this at once.
	panic(fmt.Sprintf("attribute %q: no data source form for %T", name, attribute))
}
