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

// droppedNote names the usual reasons for a missing command.
const droppedNote = "If it comes from CMDB, set it there. If you have written it, check the spelling: Terraform silently drops attributes that an object does not have"

// NotEmpty warns of an object in which no attribute is set: probably they were misspelt, and Terraform
// dropped them.
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

// NoNulls rejects null elements, which the framework reports as a bug of the provider.
type NoNulls struct{}

// Description implements validator.Describer.
func (NoNulls) Description(context.Context) string { return "must have no null elements" }

// MarkdownDescription implements validator.Describer.
func (v NoNulls) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateList implements validator.List.
func (NoNulls) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	for i, element := range req.ConfigValue.Elements() {
		if element.IsNull() {
			addNull(&resp.Diagnostics, req.Path.AtListIndex(i))
		}
	}
}

// ValidateMap implements validator.Map.
func (NoNulls) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	for key, element := range req.ConfigValue.Elements() {
		if element.IsNull() {
			addNull(&resp.Diagnostics, req.Path.AtMapKey(key))
		}
	}
}

func addNull(diags *diag.Diagnostics, at path.Path) {
	AddInvalid(diags, at, "Null Element", "it is null; leave it out")
}

// AddInvalid adds an error about the attribute at a path. what is the fault without a full stop, or a
// question about the intention. The text also names the path, because Terraform shows only the first line
// of the block for an attribute of an object or for a sensitive value.
func AddInvalid(diags *diag.Diagnostics, at path.Path, summary, what string) {
	if !strings.HasSuffix(what, "?") {
		what += "."
	}
	diags.Append(diagnose.About(at, diag.NewErrorDiagnostic(summary, "Attribute "+at.String()+": "+what)))
}

// addWarning is AddInvalid for warnings.
func addWarning(diags *diag.Diagnostics, at path.Path, summary, what string) {
	diags.Append(diagnose.About(at, diag.NewWarningDiagnostic(summary, "Attribute "+at.String()+": "+what+".")))
}
