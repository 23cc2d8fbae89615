package processoperation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

func (r *baseResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	plan, state := r.newModel(), r.newModel()
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
		resp.Diagnostics.Append(manyAtOnce(ctx, state, state.values().OnDestroy, keysOf(ctx, state))...)
		return // a destroy has nothing to compute
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(reference.CheckHosts(ctx, r.platform, plan)...)
	resp.Diagnostics.Append(reference.CheckRollout(plan.HostsMap(ctx), plan.values().Rollout)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), plan.Identifier(ctx))...)
	if resp.Diagnostics.HasError() {
		return
	}
	if req.State.Raw.IsNull() {
		planned := run{number: 1, keys: keysOf(ctx, plan)}
		if !plan.values().runsOnCreate() {
			planned.keys = nil
		}
		resp.Diagnostics.Append(planned.plan(ctx, plan, plan.values().RunOnCreate.IsUnknown(), resp)...)
		return
	}

	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	change := r.changeOf(ctx, plan, state)
	failed, retries := types.MapUnknown(types.StringType), true
	if plan.HostsMap(ctx).IsFullyKnown() && !change.retries() {
		// A run that fails ends with an error, so success is what can be planned.
		failed, retries = reference.StringMapValue(nil), false
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("failed_hosts"), failed)...)
	if !retries && sameInputs(ctx, plan, state) {
		// Nothing changes, and the last run is what state tells.
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("rollout_plan"), state.values().RolloutPlan)...)
		return
	}
	number, diags := runsSoFar(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	hosts, _ := change.due()
	planned := run{number: number + 1, keys: keysIn(change.next, hosts)}
	planned.uncertain = change.everywhere && !reference.Known(ctx, plan.Identifier(ctx), plan.values().Triggers)
	resp.Diagnostics.Append(planned.plan(ctx, plan, change.mayRename(), resp)...)
}

// sameInputs reports whether a plan says what state says.
func sameInputs(ctx context.Context, plan, state resourceModel) bool {
	to, from := plan.values(), state.values()
	return reference.SameReference(ctx, plan, state) && to.Operation.Equal(from.Operation) && to.Triggers.Equal(from.Triggers) && to.Rollout.Equal(from.Rollout) &&
		to.RunOnCreate.Equal(from.RunOnCreate) && to.OnPartialCreate.Equal(from.OnPartialCreate) && to.OnDestroy.Equal(from.OnDestroy) && to.Timeouts.Equal(from.Timeouts)
}

// run is what an apply does, in the words of rollout_plan.
type run struct {
	// number counts the runs of a resource. With it the same run twice is a line of the
	// second plan as well.
	number    int
	operation fleet.Operation
	keys      []string
	waves     []int // how many hosts each wave has
	// uncertain: the run depends on a value that is not known yet.
	uncertain bool
}

// runsNothing is the rollout_plan of an apply that only records.
const runsNothing = "runs nothing"

func (r run) String() string {
	if len(r.keys) == 0 {
		return runsNothing
	}
	text := fmt.Sprintf("run %d: %s on %s", r.number, r.operation, countHosts(len(r.keys)))
	if r.uncertain {
		text = fmt.Sprintf("run %d, if it turns out that triggers or name change: %s on %s", r.number, r.operation, countHosts(len(r.keys)))
	}
	return text + inWaves(r.waves) + ": " + namesOf(r.keys)
}

// mostWaves is how many waves are listed one by one.
const mostWaves = 12

// inWaves tells waves by number and size, nothing for a single one.
func inWaves(sizes []int) string {
	last := len(sizes) - 1
	if last <= 0 {
		return ""
	}
	if slices.Max(sizes) == sizes[0] && slices.Min(sizes[:last]) == sizes[0] {
		return fmt.Sprintf(" in %d waves of %d", len(sizes), sizes[0])
	}
	var texts []string
	for i, size := range sizes {
		if i < mostWaves || i == last {
			texts = append(texts, strconv.Itoa(size))
		} else if i == mostWaves {
			texts = append(texts, "…")
		}
	}
	return fmt.Sprintf(" in %d waves of %s", len(sizes), strings.Join(texts, ", "))
}

// plan writes the run into rollout_plan, unless that is not known yet, and warns of one
// that takes down many hosts at once.
func (r run) plan(ctx context.Context, plan resourceModel, unknown bool, resp *resource.ModifyPlanResponse) diag.Diagnostics {
	at, values := path.Root("rollout_plan"), plan.values()
	if unknown || !plan.HostsMap(ctx).IsFullyKnown() || !reference.Known(ctx, values.Operation, values.Rollout) {
		return resp.Plan.SetAttribute(ctx, at, types.StringUnknown())
	}
	// A supplier id makes no difference to waves.
	inventory, diags := reference.InventoryOf(plan.HostsMap(ctx), 0)
	rollout, d := reference.Target{Hosts: inventory}.Rollout(ctx, values.Rollout)
	diags.Append(d...)
	var hosts []fleet.Host
	for _, key := range r.keys {
		if host, found := inventory.HostOf(key); found {
			hosts = append(hosts, host)
		}
	}
	r.operation, r.waves = fleet.Operation(values.Operation.ValueString()), rollout.Sizes(hosts)
	diags.Append(resp.Plan.SetAttribute(ctx, at, r.String())...)
	diags.Append(manyAtOnce(ctx, plan, values.Operation, r.keys)...)
	return diags
}

// recordRun writes a run into rollout_plan that was not known when it was planned.
func (m *resourceValues) recordRun(o operation, number int, hosts []fleet.Host) {
	if m.RolloutPlan.IsUnknown() {
		m.RolloutPlan = types.StringValue(run{number: number, operation: o.name, keys: keysIn(o.Hosts, hosts), waves: o.rollout.Sizes(hosts)}.String())
	}
}

// fewHosts is how many hosts may be taken down at once without a warning.
const fewHosts = 100

// manyAtOnce warns of an operation that takes down many hosts without waves. A reload is
// left out: the process goes on running. Waves say that somebody thought of it.
func manyAtOnce(ctx context.Context, m model, operation types.String, keys []string) diag.Diagnostics {
	switch fleet.Operation(operation.ValueString()) {
	case fleet.Stop, fleet.Restart, fleet.Kill:
	default:
		return nil
	}
	rollout := m.inputs().Rollout
	if len(keys) <= fewHosts || rollout.IsUnknown() || reference.HasWaves(rollout) {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeWarningDiagnostic(path.Root("rollout"), "Many Hosts At Once", fmt.Sprintf(
		"%s: %s goes to %d hosts at the same time: %s. With waves, the first ones that fail end it before it reaches the others: set "+
			`rollout = { waves = ["1", "10%%"] }, for example. If all at once is what you want, waves = ["100%%"] says so.`,
		m.Identifier(ctx).ValueString(), operation.ValueString(), len(keys), namesOf(keys)))}
}

// runsKey holds the number of runs in private state.
const runsKey = "runs"

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// runsSoFar counts from 0 again where nothing was kept, as by an older release.
func runsSoFar(ctx context.Context, from privateReader) (int, diag.Diagnostics) {
	raw, diags := from.GetKey(ctx, runsKey)
	var runs int
	if len(raw) > 0 && json.Unmarshal(raw, &runs) != nil {
		runs = 0
	}
	return runs, diags
}

func saveRuns(ctx context.Context, to privateWriter, runs int) diag.Diagnostics {
	raw, err := json.Marshal(runs)
	if err != nil {
		return diag.Diagnostics{diagnose.Bug(err)}
	}
	return to.SetKey(ctx, runsKey, raw)
}

// keysOf are the keys of a model's hosts.
func keysOf(ctx context.Context, m model) []string {
	var keys []string
	for key := range m.HostsMap(ctx).All() {
		keys = append(keys, key)
	}
	return keys
}

func keysIn(inventory fleet.Inventory, hosts []fleet.Host) []string {
	keys := make([]string, len(hosts))
	for i, host := range hosts {
		keys[i] = inventory.Key(host)
	}
	return keys
}

func countHosts(n int) string {
	if n == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", n)
}

// maxNames is how many ranges of hosts are written out.
const maxNames = 8

// namesOf names hosts by their keys, in one line.
func namesOf(keys []string) string {
	names := fleet.Ranges(keys)
	if len(names) > maxNames {
		names = append(slices.Clone(names[:maxNames]), "…")
	}
	return strings.Join(names, ", ")
}
