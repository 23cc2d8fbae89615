package reference

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
)

// droppedNote is what explains most values that are missing from an object.
const droppedNote = "If you meant to set it, check the spelling: Terraform silently drops attributes that an object does not have"

// NotEmpty warns of an object in which nothing is set. Nobody writes one on purpose: its
// attributes were misspelt, and Terraform has dropped them.
func NotEmpty() validator.Object { return notEmpty{} }

type notEmpty struct{}

func (notEmpty) Description(context.Context) string { return "should set something" }

func (v notEmpty) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (notEmpty) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if isEmpty(req.ConfigValue) {
		warnEmpty(&resp.Diagnostics, req.Path, req.ConfigValue)
	}
}

func isEmpty(object types.Object) bool {
	return !object.IsNull() && !object.IsUnknown() &&
		!slices.ContainsFunc(slices.Collect(maps.Values(object.Attributes())), func(v attr.Value) bool { return !v.IsNull() })
}

func warnEmpty(diags *diag.Diagnostics, at path.Path, object types.Object) {
	addWarning(diags, at, "Nothing Set", "nothing is set in it, so it has no effect. If you meant to set something, check the spelling: "+
		"Terraform silently drops attributes that an object does not have. The attributes of this one are "+
		strings.Join(slices.Sorted(maps.Keys(object.Attributes())), ", "))
}

// AddInvalid adds an error about the attribute at a path: what is wrong with it, without
// a full stop; or asking what was meant. The path is in the text as well: inside an object, and for what may hold
// a secret, Terraform shows only the line on which the block begins.
func AddInvalid(diags *diag.Diagnostics, at path.Path, summary, what string) {
	if !strings.HasSuffix(what, "?") {
		what += "."
	}
	diags.Append(diagnose.About(at, diag.NewErrorDiagnostic(summary, "Attribute "+at.String()+": "+what)))
}

// addWarning adds a warning in the same form.
func addWarning(diags *diag.Diagnostics, at path.Path, summary, what string) {
	diags.Append(diagnose.About(at, diag.NewWarningDiagnostic(summary, "Attribute "+at.String()+": "+what+".")))
}
