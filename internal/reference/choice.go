package reference

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// OneOf formats a closed set for a description, from the slice that validates it.
func OneOf[T ~string](values []T) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = "`" + string(v) + "`"
	}
	return "One of " + strings.Join(quoted, ", ") + "."
}

// ChoiceAttribute is one of a few words, fallback where nothing is said.
func ChoiceAttribute[T ~string](fallback T, all []T, description string) schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: description,
		Optional:            true,
		Computed:            true,
		Default:             stringdefault.StaticString(string(fallback)),
		Validators:          []validator.String{stringvalidator.OneOf(AsStrings(all)...)},
	}
}

// AsStrings is a closed set for a validator.
func AsStrings[T ~string](values []T) []string {
	plain := make([]string, len(values))
	for i, v := range values {
		plain[i] = string(v)
	}
	return plain
}
