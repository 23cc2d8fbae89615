package reference

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// attributeForms converts the attributes of a resource to those of another kind of object, whose
// attribute interface is A. The framework has separate types for each kind, and separate schemas would
// drift apart. Only attributes that a user sets are converted. They keep every property that the other
// kind also has. Only resources have defaults and plan modifiers, and an action has no sensitive
// attributes.
type attributeForms[A any] struct {
	text       func(schema.StringAttribute) A
	integer    func(schema.Int64Attribute) A
	float      func(schema.Float64Attribute) A
	dictionary func(schema.MapAttribute) A
	sequence   func(schema.ListAttribute) A
	object     func(schema.SingleNestedAttribute, map[string]A) A
	list       func(schema.ListNestedAttribute, map[string]A) A
	objects    func(schema.MapNestedAttribute, map[string]A) A
}

func (f attributeForms[A]) attributes(attributes map[string]schema.Attribute) map[string]A {
	converted := make(map[string]A, len(attributes))
	for name, attribute := range attributes {
		converted[name] = f.attribute(name, attribute)
	}
	return converted
}

func (f attributeForms[A]) attribute(name string, attribute schema.Attribute) A {
	switch a := attribute.(type) {
	case schema.StringAttribute:
		return f.text(a)
	case schema.Int64Attribute:
		return f.integer(a)
	case schema.Float64Attribute:
		return f.float(a)
	case schema.MapAttribute:
		return f.dictionary(a)
	case schema.ListAttribute:
		return f.sequence(a)
	case schema.SingleNestedAttribute:
		return f.object(a, f.attributes(a.Attributes))
	case schema.ListNestedAttribute:
		return f.list(a, f.attributes(a.NestedObject.Attributes))
	case schema.MapNestedAttribute:
		return f.objects(a, f.attributes(a.NestedObject.Attributes))
	}
	// Schemas are built when the provider starts, so any test would fail here.
	panic(fmt.Sprintf("attribute %q: no other form for %T", name, attribute))
}
