package hostedprocess

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

func (r *hostedProcessResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config hostedProcessModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(checkLifecycleCommands(ctx, &config, req.Config)...)
	var autoType types.Int64
	at := path.Root("spec").AtName("monitor_policy").AtName("auto_type")
	if diags := req.Config.GetAttribute(ctx, at, &autoType); diags.HasError() {
		return // the spec is not known yet
	}
	resp.Diagnostics.Append(config.checkResident("auto_type", autoType, gse.AutoResident)...)
}

// ModifyPlan adds what only GSE has: labels, and hosts that the ESB does not take.
func (r *hostedProcessResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if !req.Plan.Raw.IsNull() && r.platform.Ready() {
		var plan hostedProcessModel
		resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
		resp.Diagnostics.Append(checkLabels(r.platform, plan.Meta)...)
	}
	if !req.Plan.Raw.IsNull() && r.platform.Ready() && r.platform.Gateway == bkapi.ESB {
		var hosts reference.HostMap
		resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, reference.HostsPath(), &hosts)...)
		resp.Diagnostics.Append(checkESBHosts(hosts)...)
	}
	r.hostedResource.ModifyPlan(ctx, req, resp)
}

// checkESBHosts refuses addresses of IPv6: the ESB's calls that register do not take them
// (those that operate do), and what else of a host they could be told, nobody knows.
func checkESBHosts(hosts reference.HostMap) diag.Diagnostics {
	var diags diag.Diagnostics
	inventory, _ := reference.InventoryOf(hosts, 0) // what cannot be read is reported elsewhere
	for key, host := range inventory.All {
		if host.IP().Is6() {
			reference.AddInvalid(&diags, reference.HostsPath().AtMapKey(key), diagnose.SummaryInvalidHost, fmt.Sprintf(
				"%q has an IPv6 address, and the ESB registers processes by IPv4 alone; give the host's IPv4 address, or go through the API gateway (gateway = \"apigw\")",
				host.Address()))
		}
	}
	return diags
}

// checkLabels refuses a label that the provider writes itself.
func checkLabels(p *platform.Platform, meta types.Object) diag.Diagnostics {
	var diags diag.Diagnostics
	labels, ok := meta.Attributes()["labels"].(types.Map)
	if !ok || p.FingerprintLabel == "" {
		return diags
	}
	for label, holds := range map[string]string{p.FingerprintLabel: "fingerprint of the spec", p.OwnerLabel(): "owner of the registration"} {
		if _, taken := reference.StringMap(labels)[label]; taken {
			diags.AddAttributeError(path.Root("meta").AtName("labels").AtMapKey(label), "Invalid Label",
				fmt.Sprintf("The provider writes the %s into the label %q. Use another label, or set spec_fingerprint_label "+
					"in the provider block to a label that is free.", holds, label))
		}
	}
	return diags
}
