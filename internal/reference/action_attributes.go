package reference

import (
	action "github.com/hashicorp/terraform-plugin-framework/action/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// ActionAttributes converts attributes of a resource to those of an action. An action has no Computed,
// Default or plan modifiers, so they are dropped.
func ActionAttributes(attributes map[string]resource.Attribute) map[string]action.Attribute {
	return actionForms.attributes(attributes)
}

// actionForms copy each property by name, because Go converts structs only if all fields are equal.
var actionForms = attributeForms[action.Attribute]{
	text: func(a resource.StringAttribute) action.Attribute {
		return action.StringAttribute{
			CustomType: a.CustomType,
			Required:   a.Required, Optional: a.Optional, WriteOnly: a.WriteOnly,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	integer: func(a resource.Int64Attribute) action.Attribute {
		return action.Int64Attribute{
			CustomType: a.CustomType,
			Required:   a.Required, Optional: a.Optional, WriteOnly: a.WriteOnly,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	float: func(a resource.Float64Attribute) action.Attribute {
		return action.Float64Attribute{
			CustomType: a.CustomType,
			Required:   a.Required, Optional: a.Optional, WriteOnly: a.WriteOnly,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	dictionary: func(a resource.MapAttribute) action.Attribute {
		return action.MapAttribute{
			ElementType: a.ElementType, CustomType: a.CustomType,
			Required: a.Required, Optional: a.Optional, WriteOnly: a.WriteOnly,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	sequence: func(a resource.ListAttribute) action.Attribute {
		return action.ListAttribute{
			ElementType: a.ElementType, CustomType: a.CustomType,
			Required: a.Required, Optional: a.Optional, WriteOnly: a.WriteOnly,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	object: func(a resource.SingleNestedAttribute, nested map[string]action.Attribute) action.Attribute {
		return action.SingleNestedAttribute{
			Attributes: nested, CustomType: a.CustomType,
			Required: a.Required, Optional: a.Optional, WriteOnly: a.WriteOnly,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	list: func(a resource.ListNestedAttribute, nested map[string]action.Attribute) action.Attribute {
		return action.ListNestedAttribute{
			NestedObject: action.NestedAttributeObject{
				Attributes: nested, CustomType: a.NestedObject.CustomType, Validators: a.NestedObject.Validators,
			},
			CustomType: a.CustomType,
			Required:   a.Required, Optional: a.Optional, WriteOnly: a.WriteOnly,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
	objects: func(a resource.MapNestedAttribute, nested map[string]action.Attribute) action.Attribute {
		return action.MapNestedAttribute{
			NestedObject: action.NestedAttributeObject{
				Attributes: nested, CustomType: a.NestedObject.CustomType, Validators: a.NestedObject.Validators,
			},
			CustomType: a.CustomType,
			Required:   a.Required, Optional: a.Optional, WriteOnly: a.WriteOnly,
			Description: a.Description, MarkdownDescription: a.MarkdownDescription, DeprecationMessage: a.DeprecationMessage,
			Validators: a.Validators,
		}
	},
}
