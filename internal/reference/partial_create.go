package reference

// OnPartialCreate says how a create ends that failed on some of its hosts.
type OnPartialCreate string

const (
	// PartialWarn ends it with a warning; the next apply deals with the failed hosts alone.
	PartialWarn OnPartialCreate = "warn"
	// PartialError ends it with an error, by which Terraform taints the resource.
	PartialError OnPartialCreate = "error"
)

// OnPartialCreates are the values that on_partial_create takes, the default first.
var OnPartialCreates = []OnPartialCreate{PartialWarn, PartialError}
