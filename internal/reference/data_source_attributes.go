package reference

import (
	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// DataSourceAttributes converts attributes of a resource to those of a data source, which have no Default
// and no plan modifiers.
func DataSourceAttributes(attributes map[string]resource.Attribute) map[string]datasource.Attribute {
	return dataSourceForms.attributes(attributes)
}

// dataSourceForms copy each property by name, because Go converts structs only if all fields are equal.
var dataSourceForms = attributeForms[datasource.Attribute]{
	text: func(a resource.StringAttribute) datasource.Attribute {
		return datasource.StringAttribute{
			CustomType: a.CustomType,
			Required:   a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	integer: func(a resource.Int64Attribute) datasource.Attribute {
		return datasource.Int64Attribute{
			CustomType: a.CustomType,
			Required:   a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	float: func(a resource.Float64Attribute) datasource.Attribute {
		return datasource.Float64Attribute{
			CustomType: a.CustomType,
			Required:   a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	dictionary: func(a resource.MapAttribute) datasource.Attribute {
		return datasource.MapAttribute{
			ElementType: a.ElementType, CustomType: a.CustomType,
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	sequence: func(a resource.ListAttribute) datasource.Attribute {
		return datasource.ListAttribute{
			ElementType: a.ElementType, CustomType: a.CustomType,
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	object: func(a resource.SingleNestedAttribute, nested map[string]datasource.Attribute) datasource.Attribute {
		return datasource.SingleNestedAttribute{
			Attributes: nested, CustomType: a.CustomType,
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	list: func(a resource.ListNestedAttribute, nested map[string]datasource.Attribute) datasource.Attribute {
		return datasource.ListNestedAttribute{
			NestedObject: datasource.NestedAttributeObject{
				Attributes: nested, CustomType: a.NestedObject.CustomType, Validators: a.NestedObject.Validators,
			},
			CustomType: a.CustomType,
			Required:   a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	objects: func(a resource.MapNestedAttribute, nested map[string]datasource.Attribute) datasource.Attribute {
		return datasource.MapNestedAttribute{
			NestedObject: datasource.NestedAttributeObject{
				Attributes: nested, CustomType: a.NestedObject.CustomType, Validators: a.NestedObject.Validators,
			},
			CustomType: a.CustomType,
			Required:   a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
}
