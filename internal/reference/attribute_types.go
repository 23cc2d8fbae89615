package reference

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// Typed sets the type of each object in attributes that has none, and returns attributes. Without it, the
// framework derives the type from the object's attributes every time that it looks up a path in the schema.
func Typed(attributes map[string]schema.Attribute) map[string]schema.Attribute {
	for name, attribute := range attributes {
		switch a := attribute.(type) {
		case schema.SingleNestedAttribute:
			a.Attributes = Typed(a.Attributes)
			if derived, is := a.GetType().(basetypes.ObjectTypable); is {
				a.CustomType = derived
			}
			attributes[name] = a
		case schema.ListNestedAttribute:
			a.NestedObject.Attributes = Typed(a.NestedObject.Attributes)
			if derived, is := a.GetType().(basetypes.ListTypable); is {
				a.CustomType = derived
			}
			attributes[name] = a
		}
	}
	return attributes
}
