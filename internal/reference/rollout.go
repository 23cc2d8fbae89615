package reference

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// RolloutAttribute declares rollout; description is a sentence on what happens in waves.
func RolloutAttribute(description string) schema.SingleNestedAttribute {
	waves := path.MatchRelative().AtParent().AtName("waves")
	return schema.SingleNestedAttribute{
		MarkdownDescription: description + " Hosts go in [natural order](../guides/rollouts.md#waves) of their keys: web-9 before web-10. " +
			"A wave starts once the previous one has settled. By default all hosts go at once.",
		Optional:   true,
		Validators: []validator.Object{rolloutValidator{}},
		Attributes: map[string]schema.Attribute{
			"waves": schema.ListAttribute{
				MarkdownDescription: "Sizes of the waves: a number of hosts, a percentage of the hosts concerned (`\"10%\"`, rounded up), or relative to the previous wave " +
					"(`\"+50\"`, `\"*2\"`). The last size repeats. [waves](../functions/waves.md) previews them. One wave by default.",
				ElementType: types.StringType,
				Optional:    true,
				Validators:  []validator.List{listvalidator.SizeAtLeast(1), wavesValidator{}},
			},
			"batch_size": schema.Int64Attribute{
				CustomType:          WholeNumber{},
				MarkdownDescription: "Number of hosts in each wave: `batch_size = 50` is short for `waves = [\"50\"]`.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(1), int64validator.ConflictsWith(waves)},
			},
			"canary": schema.ListAttribute{
				MarkdownDescription: "Keys of the hosts that go first, in a wave of their own. None by default.",
				ElementType:         types.StringType,
				Optional:            true,
				Validators:          []validator.List{listvalidator.SizeAtLeast(1), listvalidator.UniqueValues()},
			},
			"pause": schema.StringAttribute{
				MarkdownDescription: "Pause between two waves, such as `\"30s\"`. None by default.",
				Optional:            true,
				Validators:          []validator.String{DurationValidator{}},
			},
			"wave_timeout": schema.StringAttribute{
				MarkdownDescription: "How long a wave [may take](../guides/rollouts.md#wave-timeouts), such as `\"5m\"`. A host without a result by then has failed. " +
					"By default two minutes plus `op_timeout` (60 seconds if not set), `start_check_secs` (5; JOB: `start_check_end_time`) for a start, and `stop_check_secs` for a stop.",
				Optional:   true,
				Validators: []validator.String{DurationValidator{Min: time.Second}},
			},
			"max_failed_hosts": ToleranceAttribute("How many hosts may fail, across all waves: a number, or a percentage of the hosts concerned (`\"5%\"`, rounded down). " +
				"Once more have failed, no further wave starts. Defaults to `0`."),
			"healthy": healthyAttribute(),
			"on_failure": schema.StringAttribute{
				MarkdownDescription: "What happens once more than `max_failed_hosts` have failed. Only `" + string(OnFailureStop) + "`, the default: no further wave " +
					"starts. An operation cannot be rolled back.",
				Optional:   true,
				Validators: []validator.String{noRollbackValidator{}},
			},
		},
	}
}

// ToleranceAttribute declares a number or percentage of hosts that may fail, or the like.
func ToleranceAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{MarkdownDescription: description, Optional: true, Validators: []validator.String{toleranceValidator{}}}
}

// ToleranceValidator accepts a number or percentage of hosts.
func ToleranceValidator() validator.String { return toleranceValidator{} }

// OnFailure selects what a rollout does once more hosts have failed than it allows.
type OnFailure string

const (
	// OnFailureStop starts no further wave.
	OnFailureStop OnFailure = "stop"
	// OnFailureRollback also returns the changed hosts to the previous declaration.
	OnFailureRollback OnFailure = "rollback"
)

// OnFailureAttribute declares on_failure for objects with a previous declaration.
func OnFailureAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: "What an update does once more than `max_failed_hosts` have failed. `" + string(OnFailureStop) + "`: no further wave starts. `" + string(OnFailureRollback) +
			"`: the hosts that it changed also get the previous declaration back, and the apply fails. " +
			"See [a bad release](../guides/bad-release.md). Defaults to `" + string(OnFailureStop) + "`.",
		Optional:   true,
		Validators: []validator.String{stringvalidator.OneOf(string(OnFailureStop), string(OnFailureRollback))},
	}
}

// RollsBack reports whether a rollout returns to the previous declaration.
func RollsBack(rollout types.Object) bool {
	onFailure, _ := rollout.Attributes()["on_failure"].(types.String)
	return onFailure.ValueString() == string(OnFailureRollback)
}

// noRollbackValidator rejects a rollback for objects without a previous declaration. If the attribute did
// not exist, Terraform would drop it silently.
type noRollbackValidator struct{}

func (noRollbackValidator) Description(context.Context) string { return `must be "stop"` }

func (v noRollbackValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (noRollbackValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() || req.ConfigValue.ValueString() == string(OnFailureStop) {
		return
	}
	AddInvalid(&resp.Diagnostics, req.Path, "Invalid On Failure", fmt.Sprintf("an operation can only %q: there is no declaration before it that hosts could go back to. "+
		"To have a bad spec rolled back, set on_update and rollout.on_failure = %q on the hosted process, and leave the operation out", OnFailureStop, OnFailureRollback))
}

// wavesValidator rejects invalid sizes, each at its path in the list.
type wavesValidator struct{}

func (wavesValidator) Description(context.Context) string {
	return "each must be " + fleet.WaveForms
}

func (v wavesValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (wavesValidator) ValidateList(ctx context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	if !Known(ctx, req.ConfigValue) || req.ConfigValue.IsNull() {
		return
	}
	for i, text := range texts(req.ConfigValue) {
		if err := fleet.CheckWave(text, i == 0); err != nil {
			AddInvalid(&resp.Diagnostics, req.Path.AtListIndex(i), "Invalid Waves", err.Error())
		}
	}
}

// toleranceValidator accepts a number or percentage of hosts.
type toleranceValidator struct{}

func (toleranceValidator) Description(context.Context) string {
	return `must be a number of hosts ("3") or a percentage of all hosts ("10%")`
}

func (v toleranceValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (toleranceValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, err := fleet.ParseTolerance(req.ConfigValue.ValueString()); err != nil {
		AddInvalid(&resp.Diagnostics, req.Path, "Invalid Number Of Hosts", err.Error())
	}
}

// rolloutValidator warns of a rollout without waves. Terraform drops attributes that an object does not have,
// so a misspelt batch_size would not be noticed until the whole fleet restarts at once.
type rolloutValidator struct{}

func (rolloutValidator) Description(context.Context) string { return "should set waves or batch_size" }

func (v rolloutValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (rolloutValidator) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if HasWaves(req.ConfigValue) {
		return
	}
	set := req.ConfigValue.Attributes()
	if set["canary"].IsNull() {
		for _, name := range []string{"pause", "wave_timeout"} {
			if !set[name].IsNull() {
				AddInvalid(&resp.Diagnostics, req.Path.AtName(name), "Invalid Rollout", "without waves, batch_size or canary there is one wave of all hosts, "+
					"so it would do nothing. Set one of them")
				return
			}
		}
	}
	addWarning(&resp.Diagnostics, req.Path, "Rollout Without Waves", "neither waves nor batch_size is set, so all "+
		"hosts but the canary go at once. If you meant to set one of them, check the spelling: Terraform silently drops attributes that an object does not have. "+
		"If you do want all hosts at once, set waves = [\"100%\"]")
}

// HasWaves reports whether a rollout sets the size of its waves.
func HasWaves(rollout types.Object) bool {
	set := rollout.Attributes()
	return !rollout.IsNull() && (!set["waves"].IsNull() || !set["batch_size"].IsNull())
}

type rolloutModel struct {
	Waves          types.List   `tfsdk:"waves"`
	BatchSize      types.Int64  `tfsdk:"batch_size"`
	Canary         types.List   `tfsdk:"canary"`
	Pause          types.String `tfsdk:"pause"`
	WaveTimeout    types.String `tfsdk:"wave_timeout"`
	MaxFailedHosts types.String `tfsdk:"max_failed_hosts"`
	Healthy        types.Object `tfsdk:"healthy"`
	OnFailure      types.String `tfsdk:"on_failure"`
}

// CheckRollout rejects a canary that is not a key of hosts.
func CheckRollout(hosts HostMap, rollout types.Object) diag.Diagnostics {
	if hosts.IsUnknown() {
		return nil
	}
	keys := make(map[string]bool, hosts.Len())
	for key := range hosts.All() {
		keys[key] = true
	}
	return checkCanary(keys, rollout)
}

// Rollout converts the attribute rollout. A null value is one wave of all hosts.
func (t Target) Rollout(ctx context.Context, rollout types.Object) (fleet.Rollout, diag.Diagnostics) {
	if rollout.IsNull() {
		return fleet.Rollout{}, nil
	}
	var m rolloutModel
	diags := As(ctx, rollout, &m)
	r := fleet.Rollout{Canary: make(map[fleet.Host]bool)}
	// Validators have checked these values. One that cannot be read is still an error, because the default
	// would be one wave of all hosts.
	read := func(name string, value attr.Value, parse func() error) {
		if value.IsNull() || !Known(ctx, value) {
			return
		}
		if err := parse(); err != nil {
			AddInvalid(&diags, path.Root("rollout").AtName(name), "Invalid Rollout", err.Error())
		}
	}
	read("pause", m.Pause, func() (err error) { r.Pause, err = time.ParseDuration(m.Pause.ValueString()); return err })
	read("wave_timeout", m.WaveTimeout, func() (err error) { r.WaveTimeout, err = time.ParseDuration(m.WaveTimeout.ValueString()); return err })
	read("max_failed_hosts", m.MaxFailedHosts, func() (err error) {
		r.MaxFailed, err = fleet.ParseTolerance(m.MaxFailedHosts.ValueString())
		return err
	})
	read("healthy", m.Healthy, func() (err error) { r.Healthy, err = gateOf(m.Healthy); return err })
	read("waves", m.Waves, func() (err error) {
		if r.Waves, err = fleet.ParseWaves(texts(m.Waves)); err == nil && len(r.Waves) == 0 {
			err = errors.New("there is no size of a wave in it")
		}
		return err
	})
	read("batch_size", m.BatchSize, func() error {
		if r.Waves = fleet.BatchesOf(int(m.BatchSize.ValueInt64())); len(r.Waves) == 0 {
			return fmt.Errorf("%d is no number of hosts", m.BatchSize.ValueInt64())
		}
		return nil
	})
	for _, key := range texts(m.Canary) {
		if host, found := t.Hosts.HostOf(key); found {
			r.Canary[host] = true
		}
	}
	if r.InWaves() && r.WaveTimeout == 0 && t.Process != nil { // a plan has no process
		longest := fleet.Takes(t.Process, fleet.Reload) // stands for any operation without a check
		for _, operation := range t.Runs {
			longest = max(longest, fleet.Takes(t.Process, operation))
		}
		r.WaveTimeout = longest + fleet.Besides
	}
	return r, diags
}

// texts returns the known elements of a list of strings.
func texts(list types.List) []string {
	var texts []string
	for _, element := range list.Elements() {
		if text, ok := element.(types.String); ok && !text.IsUnknown() {
			texts = append(texts, text.ValueString())
		}
	}
	return texts
}
