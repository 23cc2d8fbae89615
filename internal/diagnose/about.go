package diagnose

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// secretive are the attributes that may hold a secret. These are credentials, URLs (which may have
// a password), and attributes that hold commands or the user's own values. Commands themselves are
// known by the end of their names.
var secretive = []string{
	"app_secret", "token", "access_token", "endpoint", "job_endpoint", "cmdb_endpoint",
	"spec", "control", "process", "processes", "declaration", "hosted_process", "triggers",
}

const commandSuffix = "_cmd"

// About says which attribute a diagnostic is about, unless it may hold a secret.
//
// Terraform shows the source of that attribute's value, all of its lines. If a diagnostic is
// about no attribute, Terraform shows the first line of the block. So the text has to name the
// attribute as well. Terraform goes by the last name in the path.
func About(at path.Path, d diag.Diagnostic) diag.Diagnostic {
	if MayHoldSecret(at) {
		return d
	}
	return diag.WithPath(at, d)
}

// MayHoldSecret reports whether there may be a secret in the source of the attribute at a
// path.
func MayHoldSecret(at path.Path) bool {
	for _, step := range slices.Backward(at.Steps()) {
		if name, ok := step.(path.PathStepAttributeName); ok {
			return slices.Contains(secretive, string(name)) || strings.HasSuffix(string(name), commandSuffix)
		}
	}
	return false
}
