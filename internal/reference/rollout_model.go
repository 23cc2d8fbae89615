package reference

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

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
		BatchSize: int(m.BatchSize.ValueInt64()),
		Pause:     pause,
		MaxFailed: int(m.MaxFailedHosts.ValueInt64()),
	}, diags
}
