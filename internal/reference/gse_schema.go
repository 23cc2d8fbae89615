package reference

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// Options distinguishes the objects that have the attributes of a process.
type Options struct {
	// ReplaceOnRename replaces the object when the name of its process changes.
	ReplaceOnRename bool
	// Registers is set for an object that sends the limits of spec.resource. Its process, or JOB's
	// declaration, is computed. Any other object accepts one in place of the parts.
	Registers bool
	// Several adds the attribute processes.
	Several bool
	// Whole adds hosted_process and makes spec optional: GSE's cached status can be read without a spec.
	Whole bool
}

// GSEAttributes declares meta, hosts, spec and process, by name.
func GSEAttributes(o Options) map[string]schema.Attribute {
	hosts := hostsAttribute()
	hosts.Required, hosts.Optional = o.Registers, !o.Registers
	process := gseDeclaration.computed()
	switch {
	case o.Whole:
		process = gseDeclaration.orWhole(specPart)
	case o.Several:
		process = gseDeclaration.orSeveral()
	case !o.Registers:
		process = gseDeclaration.accepted()
	}
	attributes := map[string]schema.Attribute{
		"meta":    metaAttribute(o),
		"hosts":   hosts,
		"spec":    specAttribute(o),
		"process": process,
	}
	if o.Whole {
		attributes[wholePart] = gseDeclaration.whole(map[string]schema.Attribute{"meta": metaAttribute(Options{}), "spec": specAttribute(Options{})})
	}
	if o.Several {
		attributes["processes"] = processesAttribute(gseDeclaration,
			map[string]schema.Attribute{"meta": metaAttribute(Options{}), "spec": specAttribute(Options{})},
			"in one call for each wave if the platform supports it", " Takes `processes = data.bk_cmdb_processes.<name>.processes` unchanged.")
	}
	return attributes
}
