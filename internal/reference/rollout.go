package reference

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// RolloutAttribute declares rollout; description is the sentence that says what happens
// in waves.
func RolloutAttribute(description string) schema.SingleNestedAttribute {
	// Without it there is one wave, and nothing to pause between.
	batchSize := path.MatchRelative().AtParent().AtName("batch_size")
	return schema.SingleNestedAttribute{
		MarkdownDescription: description + " Hosts are taken in the order of their keys. A wave starts once every host of the previous wave has settled. " +
			"Without `rollout`, all hosts go at once.",
		Optional:   true,
		Validators: []validator.Object{rolloutValidator{}},
		Attributes: map[string]schema.Attribute{
			"batch_size": schema.Int64Attribute{
				CustomType:          WholeNumber{},
				MarkdownDescription: "Number of hosts in a wave. All of them by default.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"pause": schema.StringAttribute{
				MarkdownDescription: "Pause between two waves, as a duration such as `\"30s\"`. None by default. Requires `batch_size`.",
				Optional:            true,
				Validators:          []validator.String{DurationValidator{}, stringvalidator.AlsoRequires(batchSize)},
			},
			"max_failed_hosts": schema.Int64Attribute{
				CustomType: WholeNumber{},
				MarkdownDescription: "How many hosts may fail, across all waves. Once more have failed, no further wave starts. Defaults to `0`: the first wave " +
					"with a failure is the last.",
				Optional:   true,
				Validators: []validator.Int64{int64validator.AtLeast(0)},
			},
		},
	}
}

// rolloutValidator warns of a rollout without waves: Terraform drops attributes that an
// object does not have, so a misspelt batch_size would go unnoticed until the whole fleet
// restarts at once.
type rolloutValidator struct{}

func (rolloutValidator) Description(context.Context) string { return "should set batch_size" }

func (v rolloutValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (rolloutValidator) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() || !req.ConfigValue.Attributes()["batch_size"].IsNull() {
		return
	}
	resp.Diagnostics.AddAttributeWarning(req.Path, "Rollout Without Waves", "Attribute "+req.Path.String()+": batch_size is not set, so all hosts "+
		"go at once. If you meant to set it, check the spelling: Terraform silently drops attributes that an object does not have. "+
		"If you do want all hosts at once, set batch_size to the number of hosts, or leave out rollout.")
}

type rolloutModel struct {
	BatchSize      types.Int64  `tfsdk:"batch_size"`
	Pause          types.String `tfsdk:"pause"`
	MaxFailedHosts types.Int64  `tfsdk:"max_failed_hosts"`
}

// RolloutToAPI converts rollout. A null value is one wave of all hosts.
func RolloutToAPI(ctx context.Context, rollout types.Object) (fleet.Rollout, diag.Diagnostics) {
	if rollout.IsNull() {
		return fleet.Rollout{}, nil
	}
	var m rolloutModel
	diags := rollout.As(ctx, &m, basetypes.ObjectAsOptions{})
	pause, _ := time.ParseDuration(m.Pause.ValueString()) // checked by a validator; "" is none
	return fleet.Rollout{
		Waves:     fleet.BatchesOf(int(m.BatchSize.ValueInt64())),
		Pause:     pause,
		MaxFailed: fleet.UpTo(int(m.MaxFailedHosts.ValueInt64())),
	}, diags
}
