package reference

import (
	action "github.com/hashicorp/terraform-plugin-framework/action/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// ActionAttributes are a resource's attributes as an action takes them.
func ActionAttributes(attributes map[string]resource.Attribute) map[string]action.Attribute {
	return actionForms.attributes(attributes)
}

var actionForms = attributeForms[action.Attribute]{
	text: func(a resource.StringAttribute) action.Attribute {
		return action.StringAttribute{CustomType: a.CustomType, MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional, Validators: a.Validators}
	},
	integer: func(a resource.Int64Attribute) action.Attribute {
		return action.Int64Attribute{MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional, Validators: a.Validators}
	},
	float: func(a resource.Float64Attribute) action.Attribute {
		return action.Float64Attribute{MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional, Validators: a.Validators}
	},
	dictionary: func(a resource.MapAttribute) action.Attribute {
		return action.MapAttribute{
			MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional,
			ElementType: a.ElementType, Validators: a.Validators,
		}
	},
	object: func(a resource.SingleNestedAttribute, nested map[string]action.Attribute) action.Attribute {
		return action.SingleNestedAttribute{
			MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional,
			Attributes: nested, Validators: a.Validators,
		}
	},
	list: func(a resource.ListNestedAttribute, nested map[string]action.Attribute) action.Attribute {
		return action.ListNestedAttribute{
			MarkdownDescription: a.MarkdownDescription, Required: a.Required, Optional: a.Optional,
			NestedObject: action.NestedAttributeObject{Attributes: nested}, Validators: a.Validators,
		}
	},
}
