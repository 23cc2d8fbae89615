package reference

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// Options are the differences between the objects that have the attributes of a process.
type Options struct {
	// ReplaceOnRename makes a change of the process's name replace the object.
	ReplaceOnRename bool
	// Registers says that the limits of spec.resource are sent. It also makes process, or JOB's
	// declaration, computed. Any other object accepts one in place of its parts.
	Registers bool
	// Several adds processes.
	Several bool
	// Whole adds hosted_process, and makes spec optional: GSE's cached status can be read without one.
	Whole bool
}

// GSEAttributes declares meta, hosts and spec, and process, by name.
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
			"in one call for each wave where the platform has it", " Takes `processes = data.bk_cmdb_processes.<name>.processes` as it is.")
	}
	return attributes
}
