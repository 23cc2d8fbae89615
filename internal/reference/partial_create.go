package reference

// OnPartialCreate is what a create with some failures ends as.
type OnPartialCreate string

const (
	PartialWarn  OnPartialCreate = "warn"
	PartialError OnPartialCreate = "error"
)

var OnPartialCreates = []OnPartialCreate{PartialWarn, PartialError}
