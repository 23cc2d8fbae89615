package reference

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// Options are the few ways in which meta, hosts and spec differ between
// the objects that take them.
type Options struct {
	// replaceOnRename: a process of another name is another object.
	ReplaceOnRename bool
	// registers: resource limits are required for registering alone.
	Registers bool
	// optionalSpec: a cached status needs no spec.
	OptionalSpec bool
}

// GSEAttributes are meta, hosts and spec.
func GSEAttributes(o Options) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"meta":  metaAttribute(o),
		"hosts": hostsAttribute(),
		"spec":  specAttribute(o),
	}
}
