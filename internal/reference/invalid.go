package reference

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// AddInvalid says the path in words as well: inside an object Terraform can show
// no more than the line at which the block begins.
func AddInvalid(diags *diag.Diagnostics, at path.Path, summary, what string) {
	diags.AddAttributeError(at, summary, "Attribute "+at.String()+": "+what+".")
}
