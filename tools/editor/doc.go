// Package editor holds what the provider says of itself against the library of Terraform's
// language server, which editors ask for completion, hovers and mistakes: it has tests
// only.
package editor
