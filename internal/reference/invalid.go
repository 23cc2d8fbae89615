package reference

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// AddInvalid adds an error about the attribute at a path: what is wrong with it, without
// a full stop; or asking what was meant. The path is in the text as well, because inside an object Terraform shows
// only the line on which the block begins.
func AddInvalid(diags *diag.Diagnostics, at path.Path, summary, what string) {
	if !strings.HasSuffix(what, "?") {
		what += "."
	}
	diags.AddAttributeError(at, summary, "Attribute "+at.String()+": "+what)
}
