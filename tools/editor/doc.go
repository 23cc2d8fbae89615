// Package editor tests the provider's schema with the library of Terraform's language server, which
// editors use for completion, hovers and validation.
package editor
