package diagnose

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// secretive lists the attributes that may hold a secret: credentials, URLs, which may contain a password, and
// attributes that contain commands or the user's own values. Attributes that are commands themselves end in
// commandSuffix.
var secretive = []string{
	"app_secret", "token", "access_token", "endpoint", "job_endpoint", "cmdb_endpoint",
	"spec", "control", "process", "processes", "declaration", "hosted_process", "triggers",
}

const commandSuffix = "_cmd"

// About attaches the path of an attribute to a diagnostic, unless the attribute may hold a secret.
//
// Terraform prints the source of that attribute's value, all of its lines. For a diagnostic without a path it
// prints the first line of the block, so the text has to name the attribute as well.
func About(at path.Path, d diag.Diagnostic) diag.Diagnostic {
	if MayHoldSecret(at) {
		return d
	}
	return diag.WithPath(at, d)
}

// MayHoldSecret reports whether the source of the attribute at a path may contain a secret. The last attribute
// name in the path decides, as it does for Terraform.
func MayHoldSecret(at path.Path) bool {
	for _, step := range slices.Backward(at.Steps()) {
		if name, ok := step.(path.PathStepAttributeName); ok {
			return slices.Contains(secretive, string(name)) || strings.HasSuffix(string(name), commandSuffix)
		}
	}
	return false
}
