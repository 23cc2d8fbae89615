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
	diags.AddAttributeWarning(at, "Nothing Set", "Attribute "+at.String()+": nothing is set in it, so it has no effect. If you meant to set something, check the spelling: "+
		"Terraform silently drops attributes that an object does not have. The attributes of this one are "+
		strings.Join(slices.Sorted(maps.Keys(object.Attributes())), ", ")+".")
}

// AddInvalid adds an error about the attribute at a path: what is wrong with it, without
// a full stop; or asking what was meant. The path is in the text as well, because inside an object Terraform shows
// only the line on which the block begins.
func AddInvalid(diags *diag.Diagnostics, at path.Path, summary, what string) {
	if !strings.HasSuffix(what, "?") {
		what += "."
	}
	diags.AddAttributeError(at, summary, "Attribute "+at.String()+": "+what)
}
