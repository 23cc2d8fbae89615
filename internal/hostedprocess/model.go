package hostedprocess

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// hostedModel is the model of a resource that keeps a process registered.
type hostedModel interface {
	reference.Model
	lifecycle() *lifecycleModel
	// resourceIdentity is nil where the resource has none.
	resourceIdentity(ctx context.Context) (any, diag.Diagnostics)
	// vanishes tells whether a process that is registered nowhere is gone, so that
	// the next plan creates it, and not just in need of mending.
	vanishes() bool
	// complete adds what a first refresh after an import learnt.
	complete(ctx context.Context, p *platform.Platform, report fleet.Report)
}

// lifecycleModel is what such resources have in common.
type lifecycleModel struct {
	Ensure          types.String   `tfsdk:"ensure"`
	AdoptExisting   types.Bool     `tfsdk:"adopt_existing"`
	OnPartialCreate types.String   `tfsdk:"on_partial_create"`
	OnDestroy       types.String   `tfsdk:"on_destroy"`
	Rollout         types.Object   `tfsdk:"rollout"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`
	ID              types.String   `tfsdk:"id"`
	OutOfSync       types.Map      `tfsdk:"out_of_sync"`
}

func (m *lifecycleModel) lifecycle() *lifecycleModel { return m }

// checkLifecycleCommands refuses what the resource would need a command for that
// is not there.
func checkLifecycleCommands(ctx context.Context, m hostedModel, config tfsdk.Config) diag.Diagnostics {
	var diags diag.Diagnostics
	if m.lifecycle().Ensure.ValueString() == string(fleet.EnsureRunning) {
		diags.Append(reference.CheckCommand(ctx, m, config, types.StringValue(string(fleet.Start)))...)
	}
	// The two that run a command are called like the operation.
	diags.Append(reference.CheckCommand(ctx, m, config, m.lifecycle().OnDestroy)...)
	return diags
}

// hostedProcess is a model as the clients need it.
type hostedProcess struct {
	reference.Target
	rollout fleet.Rollout
}

// open converts a model for the clients, or says why it cannot.
func (r *hostedResource) open(ctx context.Context, m hostedModel, diags *diag.Diagnostics) hostedProcess {
	var h hostedProcess
	if diags.HasError() {
		return h
	}
	if !r.platform.Ready() {
		diags.Append(r.platform.NotReady())
		return h
	}
	var d diag.Diagnostics
	h.Target, d = m.Open(ctx, r.platform)
	diags.Append(d...)
	h.Desired.Ensure = fleet.Ensure(m.lifecycle().Ensure.ValueString())
	h.rollout, d = reference.RolloutToAPI(ctx, m.lifecycle().Rollout)
	diags.Append(d...)
	return h
}

// stateReason is an outcome as out_of_sync keeps it: first what is left to do,
// by which the next update chooses its call, then why the last attempt failed.
func stateReason(o fleet.Outcome) string {
	if o.Left == fleet.NotRegistered && (o.Verdict == fleet.Pending || o.Verdict == fleet.Lost) {
		return reasonUnconfirmed + ": " + diagnose.Reason(o)
	}
	return string(o.Left) + ": " + diagnose.Reason(o)
}

// applied is what was last registered. It is kept beside state, because a
// registration also depends on the provider block (default_labels), whose
// earlier values are nowhere else.
type applied struct {
	FingerprintLabel string            `json:"fingerprint_label"`
	Fingerprint      string            `json:"fingerprint"`
	Labels           map[string]string `json:"labels"`
	// Earlier are fingerprints that were sent before, kept while a host may have one
	// of them and nobody knows.
	Earlier []string `json:"earlier,omitempty"`
}

const appliedKey = "applied"

func appliedAs(d fleet.Desired) applied {
	return applied{FingerprintLabel: d.FingerprintLabel, Fingerprint: d.Fingerprint, Labels: d.Labels}
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

func saveApplied(ctx context.Context, to privateWriter, a applied) diag.Diagnostics {
	raw, err := json.Marshal(a)
	if err != nil {
		return diag.Diagnostics{diagnose.Bug(err)}
	}
	return to.SetKey(ctx, appliedKey, raw)
}

// loadApplied gives false where nothing was kept: after an import, when state has no
// spec either, and after a provider died in an update, of which Terraform (1.11.4)
// keeps the attributes of before and nothing else.
func loadApplied(ctx context.Context, from privateReader) (applied, bool, diag.Diagnostics) {
	var a applied
	raw, diags := from.GetKey(ctx, appliedKey)
	if len(raw) == 0 || diags.HasError() {
		return a, false, diags
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		// What cannot be read is as good as nothing kept: hosts are looked at anew.
		return a, false, diags
	}
	return a, true, diags
}

// registeredAs tells whether a declaration is what was last registered. It goes
// by the fingerprint and not by attributes, so that what registering does not
// send (op_timeout) makes no call.
func (a applied) registeredAs(d fleet.Desired) bool {
	return a.FingerprintLabel == d.FingerprintLabel && a.Fingerprint == d.Fingerprint && maps.Equal(a.Labels, d.Labels)
}

// held puts what was last registered in the place of what is declared now: drift
// is a difference from what was applied, a plan shows the rest.
func (a applied) held(d fleet.Desired) fleet.Desired {
	d.FingerprintLabel, d.Fingerprint, d.Labels = a.FingerprintLabel, a.Fingerprint, a.Labels
	return d
}
