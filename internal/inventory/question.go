package inventory

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/datasource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// question is what both data sources request from CMDB, and how they name the hosts.
type question struct {
	scopeModel
	namingModel
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// questionAttributes declares the attributes of question.
func questionAttributes(ctx context.Context) map[string]schema.Attribute {
	attributes := scopeAttributes()
	addNamingAttributes(attributes)
	attributes["timeouts"] = reference.ReadTimeouts(ctx)
	return attributes
}

// ask returns the scope to request, and how long the request may take.
func (q *question) ask(ctx context.Context, p *platform.Platform) (cmdb.Scope, time.Duration, diag.Diagnostics) {
	switch {
	case !p.Ready():
		return cmdb.Scope{}, 0, diag.Diagnostics{p.NotReady()}
	case p.CMDB == nil:
		return cmdb.Scope{}, 0, diag.Diagnostics{diagnose.NoCMDB()}
	}
	limit, diags := q.Timeouts.Read(ctx, reference.DefaultReadTimeout)
	scope, err := q.scope()
	if err != nil {
		diags.Append(diagnose.Bug(err)) // validators have checked the expressions
	}
	return scope, limit, diags
}

// asker is what both data sources have besides their question.
type asker struct{ platform *platform.Platform }

func (a *asker) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	a.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (*asker) ConfigValidators(context.Context) []datasource.ConfigValidator {
	return []datasource.ConfigValidator{oneScope()}
}
