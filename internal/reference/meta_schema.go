package reference

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func metaAttribute(o Options) schema.SingleNestedAttribute {
	var (
		modifiers []planmodifier.String
		replaces  string
	)
	if o.ReplaceOnRename {
		modifiers = []planmodifier.String{stringplanmodifier.RequiresReplace()}
		replaces = " Changing this forces replacement."
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "What the process is called on the platform.",
		Required:            true,
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				MarkdownDescription: "Namespace, which groups processes. No white space and no colon." + replaces,
				Required:            true,
				Validators:          []validator.String{NameValidator(":")},
				PlanModifiers:       modifiers,
			},
			"name": schema.StringAttribute{
				MarkdownDescription: "Name of the process within the namespace, of your choice. No white space and no `@`." + replaces,
				Required:            true,
				Validators:          []validator.String{NameValidator("@")},
				PlanModifiers:       modifiers,
			},
			"labels": schema.MapAttribute{
				MarkdownDescription: "Labels of the registration. The provider's `default_labels` are merged under them, and the label " +
					"that `spec_fingerprint_label` names is added.",
				Optional:    true,
				ElementType: types.StringType,
			},
		},
	}
}

// NameValidator accepts a part of a process's name: at least one character, no white
// space and none of the forbidden characters.
func NameValidator(forbidden string) validator.String {
	return stringvalidator.RegexMatches(
		regexp.MustCompile(`^[^\s`+regexp.QuoteMeta(forbidden)+`]+$`),
		fmt.Sprintf("must not be empty and must hold neither white space nor %q, which import ids are taken apart by", forbidden))
}
