package reference

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// Options are the ways in which meta, hosts and spec differ between the objects that
// take them.
type Options struct {
	// ReplaceOnRename makes a changed namespace or name replace the object.
	ReplaceOnRename bool
	// Registers says that the limits of spec.resource are sent.
	Registers bool
	// OptionalSpec makes spec optional: a cached status can be read without one.
	OptionalSpec bool
}

// GSEAttributes declares meta, hosts and spec, by name.
func GSEAttributes(o Options) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"meta":  metaAttribute(o),
		"hosts": hostsAttribute(),
		"spec":  specAttribute(o),
	}
}
