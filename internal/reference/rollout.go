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

type rolloutModel struct {
	BatchSize      types.Int64  `tfsdk:"batch_size"`
	Pause          types.String `tfsdk:"pause"`
	MaxFailedHosts types.Int64  `tfsdk:"max_failed_hosts"`
}

func RolloutAttribute(description string) schema.SingleNestedAttribute {
	// Without it there is one wave, and nothing to pause between.
	batchSize := path.MatchRelative().AtParent().AtName("batch_size")
	return schema.SingleNestedAttribute{
		MarkdownDescription: description + " Hosts go in the order of their keys. A wave starts when every host of the one before has settled. " +
			"Without `rollout`, all hosts at once.",
		Optional:   true,
		Validators: []validator.Object{rolloutValidator{}},
		Attributes: map[string]schema.Attribute{
			"batch_size": schema.Int64Attribute{
				MarkdownDescription: "Hosts in a wave. All of them by default.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"pause": schema.StringAttribute{
				MarkdownDescription: "Time between two waves, a duration such as `\"30s\"`. None by default. Needs `batch_size`.",
				Optional:            true,
				Validators:          []validator.String{DurationValidator{}, stringvalidator.AlsoRequires(batchSize)},
			},
			"max_failed_hosts": schema.Int64Attribute{
				MarkdownDescription: "How many hosts may fail, over all waves, before no further wave starts. Defaults to `0`: the first wave " +
					"with a failure is the last.",
				Optional:   true,
				Validators: []validator.Int64{int64validator.AtLeast(0)},
			},
		},
	}
}

// RolloutToAPI gives the zero rollout for null.
func RolloutToAPI(ctx context.Context, rollout types.Object) (fleet.Rollout, diag.Diagnostics) {
	if rollout.IsNull() {
		return fleet.Rollout{}, nil
	}
	var m rolloutModel
	diags := rollout.As(ctx, &m, basetypes.ObjectAsOptions{})
	pause, _ := time.ParseDuration(m.Pause.ValueString()) // checked by a validator; "" is none
	return fleet.Rollout{
		BatchSize: int(m.BatchSize.ValueInt64()),
		Pause:     pause,
		MaxFailed: int(m.MaxFailedHosts.ValueInt64()),
	}, diags
}
