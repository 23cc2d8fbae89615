package hostedprocess

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

type hostedProcessModel struct {
	reference.GSEModel
	LabelsAll types.Map `tfsdk:"labels_all"`
	lifecycleModel
}

// Check refuses what the ESB cannot do: it only hosts a process without limits.
func (m *hostedProcessModel) Check(ctx context.Context, p *platform.Platform) diag.Diagnostics {
	diags := m.GSEModel.Check(ctx, p)
	if p.Ready() && p.Gateway == bkapi.ESB && m.Ensure.ValueString() == string(fleet.EnsureRegistered) && m.Unlimited() {
		diags.Append(diagnose.About(path.Root("ensure"), diag.NewErrorDiagnostic("Invalid Ensure", fmt.Sprintf("Through the ESB, ensure = %q requires limits: register_proc_info takes no "+
			"process without spec.resource, which can only be hosted. Set spec.resource, or ensure = %q.", fleet.EnsureRegistered, fleet.EnsureHosted))))
	}
	return diags
}

func (m *hostedProcessModel) setSent(d fleet.Desired) {
	m.Fingerprint, m.LabelsAll = types.StringValue(d.Fingerprint), reference.StringMapValue(d.Labels)
}

func (m *hostedProcessModel) sent() map[string]any {
	return map[string]any{"fingerprint": m.Fingerprint, "labels_all": m.LabelsAll}
}

func (m *hostedProcessModel) setWhole(ctx context.Context) (string, types.String) {
	m.SetProcess(ctx)
	return "process", m.Process
}

type hostedProcessIdentityModel struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
}

func (m *hostedProcessModel) resourceIdentity(ctx context.Context) (any, diag.Diagnostics) {
	meta, diags := reference.MetaToAPI(ctx, m.Meta)
	return hostedProcessIdentityModel{Namespace: types.StringValue(meta.Namespace), Name: types.StringValue(meta.Name)}, diags
}

func (m *hostedProcessModel) replaces(ctx context.Context, state hostedModel) bool {
	return !m.Identifier(ctx).Equal(state.Identifier(ctx))
}

func (m *hostedProcessModel) vanishes() bool { return true }

// complete gives an import the labels that are on file, less those that the
// provider adds, so that a generated configuration has them. What is not the same on
// every host is left out, with a warning.
func (m *hostedProcessModel) complete(ctx context.Context, p *platform.Platform, h hostedProcess, report fleet.Report) diag.Diagnostics {
	onFile := make(map[string]map[string]string)
	for host, status := range report.Cached {
		if status.State != fleet.Unregistered && status.Labels != nil {
			onFile[h.Hosts.Key(host)] = p.OwnLabels(status.Labels)
		}
	}
	labels, differing := sharedLabels(onFile)
	var diags diag.Diagnostics
	if len(differing) > 0 {
		diags.Append(labelsDiffer(h.Title, onFile, differing))
	}
	attributes := m.Meta.Attributes()
	attributes["labels"] = types.MapNull(types.StringType)
	if len(labels) > 0 {
		attributes["labels"] = reference.StringMapValue(labels)
	}
	m.Meta = types.ObjectValueMust(m.Meta.AttributeTypes(ctx), attributes)
	m.complement(p, report)
	return diags
}

// complement shows what is registered as registering would show it.
func (m *hostedProcessModel) complement(p *platform.Platform, report fleet.Report) {
	m.Fingerprint, m.LabelsAll = types.StringNull(), types.MapNull(types.StringType)
	for _, status := range report.Cached {
		if fingerprint := status.Labels[p.FingerprintLabel]; p.FingerprintLabel != "" && fingerprint != "" {
			m.Fingerprint = types.StringValue(fingerprint)
		}
	}
}
