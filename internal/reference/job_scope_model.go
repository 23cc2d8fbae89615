package reference

import (
	"context"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/blueking/terraform-provider-bk/internal/job"
)

type jobScopeModel struct {
	Type types.String `tfsdk:"type"`
	ID   types.String `tfsdk:"id"`
}

// scopeToAPI also returns the scope as it is written in ids and sentences, "biz:2".
func (m *JobModel) scopeToAPI(ctx context.Context) (scope job.Scope, name string, diags diag.Diagnostics) {
	if m.Scope.IsNull() {
		return job.Scope{BizID: m.BizID.ValueInt64Pointer()}, "biz:" + strconv.FormatInt(m.BizID.ValueInt64(), 10), nil
	}
	var s jobScopeModel
	diags = m.Scope.As(ctx, &s, basetypes.ObjectAsOptions{})
	return job.Scope{Type: s.Type.ValueString(), ID: s.ID.ValueString()}, s.Type.ValueString() + ":" + s.ID.ValueString(), diags
}
