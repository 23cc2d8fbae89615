package provider

// onPartialCreate is what a create with some failures ends as.
type onPartialCreate string

const (
	partialWarn  onPartialCreate = "warn"
	partialError onPartialCreate = "error"
)

var onPartialCreates = []onPartialCreate{partialWarn, partialError}
