package reference

import (
	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// DataSourceAttributes are a resource's attributes as a data source takes them.
func DataSourceAttributes(attributes map[string]resource.Attribute) map[string]datasource.Attribute {
	return dataSourceForms.attributes(attributes)
}

var dataSourceForms = attributeForms[datasource.Attribute]{
	text: func(a resource.StringAttribute) datasource.Attribute {
		return datasource.StringAttribute{CustomType: a.CustomType, MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional, Validators: a.Validators}
	},
	integer: func(a resource.Int64Attribute) datasource.Attribute {
		return datasource.Int64Attribute{MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional, Validators: a.Validators}
	},
	float: func(a resource.Float64Attribute) datasource.Attribute {
		return datasource.Float64Attribute{MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional, Validators: a.Validators}
	},
	dictionary: func(a resource.MapAttribute) datasource.Attribute {
		return datasource.MapAttribute{
			MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional,
			ElementType: a.ElementType, Validators: a.Validators,
		}
	},
	object: func(a resource.SingleNestedAttribute, nested map[string]datasource.Attribute) datasource.Attribute {
		return datasource.SingleNestedAttribute{
			MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional,
			Attributes: nested, Validators: a.Validators,
		}
	},
	list: func(a resource.ListNestedAttribute, nested map[string]datasource.Attribute) datasource.Attribute {
		return datasource.ListNestedAttribute{
			MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional,
			NestedObject: datasource.NestedAttributeObject{Attributes: nested}, Validators: a.Validators,
		}
	},
}
