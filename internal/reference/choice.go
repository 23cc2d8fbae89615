package reference

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// OneOf returns the sentence of a description that lists the allowed values, such as
// "One of `a`, `b`." Pass it the slice that the validator uses.
func OneOf[T ~string](values []T) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = "`" + string(v) + "`"
	}
	return "One of " + strings.Join(quoted, ", ") + "."
}

// ChoiceAttribute returns an optional string attribute that accepts one of all and defaults to fallback.
func ChoiceAttribute[T ~string](fallback T, all []T, description string) schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: description,
		Optional:            true,
		Computed:            true,
		Default:             stringdefault.StaticString(string(fallback)),
		Validators:          []validator.String{stringvalidator.OneOf(AsStrings(all)...)},
	}
}

// AsStrings returns the values as strings, for validators.
func AsStrings[T ~string](values []T) []string {
	plain := make([]string, len(values))
	for i, v := range values {
		plain[i] = string(v)
	}
	return plain
}

// OnPartialCreate selects how a create ends if it failed on some of its hosts.
type OnPartialCreate string

const (
	// PartialWarn ends the create with a warning. The next apply runs only on the failed hosts.
	PartialWarn OnPartialCreate = "warn"
	// PartialError ends the create with an error, so that Terraform taints the resource.
	PartialError OnPartialCreate = "error"
)

// OnPartialCreates lists the values of on_partial_create, the default first.
var OnPartialCreates = []OnPartialCreate{PartialWarn, PartialError}
