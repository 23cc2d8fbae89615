package reference

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

func metaAttribute(o Options) schema.SingleNestedAttribute {
	var (
		modifiers []planmodifier.String
		whole     []planmodifier.Object
		replaces  string
	)
	if o.ReplaceOnRename {
		modifiers, whole = []planmodifier.String{stringplanmodifier.RequiresReplace()}, replaceIfUnknown
		replaces = " Changing this forces replacement."
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Name and labels of the process on the platform.",
		Required:            o.Registers,
		Optional:            !o.Registers,
		PlanModifiers:       whole,
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				MarkdownDescription: "Namespace, which groups processes. Must not contain white space or a colon." + replaces,
				Required:            true,
				Validators:          []validator.String{NameValidator(":")},
				PlanModifiers:       modifiers,
			},
			"name": schema.StringAttribute{
				MarkdownDescription: "Name of the process within the namespace, of your choice. Must not contain white space or `@`." + replaces,
				Required:            true,
				Validators:          []validator.String{NameValidator("@")},
				PlanModifiers:       modifiers,
			},
			"labels": schema.MapAttribute{
				MarkdownDescription: "Labels of the registration. Names must not contain white space. The provider adds its `default_labels` and labels for fingerprint and owner.",
				Optional:            true,
				ElementType:         types.StringType,
				Validators:          []validator.Map{LabelsValidator()},
			},
		},
	}
}

// LabelsValidator rejects labels without a value, without a name, or with white space in the name.
func LabelsValidator() validator.Map { return labelsValidator{} }

type labelsValidator struct{}

func (labelsValidator) Description(context.Context) string {
	return "every label must have a value, and a name without white space"
}

func (v labelsValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (labelsValidator) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	for _, name := range slices.Sorted(maps.Keys(req.ConfigValue.Elements())) {
		at := req.Path.AtMapKey(name)
		switch words := strings.Fields(name); {
		case len(words) == 0:
			AddInvalid(&resp.Diagnostics, at, "Invalid Label", "a label needs a name, and this one is empty")
		case strings.ContainsFunc(name, unicode.IsSpace):
			AddInvalid(&resp.Diagnostics, at, "Invalid Label", fmt.Sprintf("the name of a label must not contain white space; use %q instead of %q", strings.Join(words, "-"), name))
		case req.ConfigValue.Elements()[name].IsNull():
			AddInvalid(&resp.Diagnostics, at, "Invalid Label", fmt.Sprintf("the label %q is null; give it a value, or leave it out", name))
		}
	}
}

// ReservedLabels returns the labels that the provider writes itself, and what each contains.
func ReservedLabels(fingerprintLabel string) map[string]string {
	if fingerprintLabel == "" {
		return nil
	}
	return map[string]string{fingerprintLabel: "fingerprint of the spec", fleet.OwnerLabel(fingerprintLabel): "owner of the registration"}
}

// checkLabels refuses reserved labels. Only plans are checked, because the labels in state may be older than
// the reservation.
func (m *GSEModel) checkLabels(p *platform.Platform) diag.Diagnostics {
	var diags diag.Diagnostics
	labels, _ := m.Meta.Attributes()["labels"].(types.Map)
	for label, holds := range ReservedLabels(p.FingerprintLabel) {
		if _, taken := labels.Elements()[label]; taken {
			diags.Append(diagnose.About(m.at.AtName("meta").AtName("labels").AtMapKey(label), diag.NewErrorDiagnostic("Invalid Label",
				fmt.Sprintf("The provider writes the %s into the label %q. Use another label, or set spec_fingerprint_label "+
					"in the provider block to a label that is free.", holds, label))))
		}
	}
	return diags
}

type metaModel struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
	Labels    types.Map    `tfsdk:"labels"`
}

// MetaToAPI converts meta. The labels are the object's own, without those that the provider adds.
func MetaToAPI(ctx context.Context, meta types.Object) (gse.Meta, diag.Diagnostics) {
	var m metaModel
	diags := As(ctx, meta, &m)
	if diags.HasError() {
		return gse.Meta{}, diags
	}
	return gse.Meta{Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString(), Labels: StringMap(m.Labels)}, diags
}
