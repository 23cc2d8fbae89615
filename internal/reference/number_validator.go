package reference

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// WholeNumber is the type of attributes for whole numbers. The framework's own type reports a fraction as a
// bug of the provider.
type WholeNumber struct{ basetypes.Int64Type }

// Equal implements attr.Type. Values are those of the framework's type.
func (WholeNumber) Equal(other attr.Type) bool {
	_, same := other.(WholeNumber)
	return same || basetypes.Int64Type{}.Equal(other)
}

// ValueFromTerraform turns a fraction, which Validate reports, into an unknown value.
func (t WholeNumber) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	if fractionOf(in) != nil {
		return basetypes.NewInt64Unknown(), nil
	}
	return t.Int64Type.ValueFromTerraform(ctx, in)
}

// Validate implements xattr.TypeWithValidate.
func (t WholeNumber) Validate(ctx context.Context, in tftypes.Value, at path.Path) diag.Diagnostics {
	fraction := fractionOf(in)
	if fraction == nil {
		return t.Int64Type.Validate(ctx, in, at)
	}
	var diags diag.Diagnostics
	whole, _ := fraction.Int64()
	AddInvalid(&diags, at, "Invalid Number", fmt.Sprintf("the value must be a whole number, such as %d; got %s", whole+1, fraction.Text('g', -1)))
	return diags
}

// fractionOf returns a number that is not whole, and nil for any other value.
func fractionOf(in tftypes.Value) *big.Float {
	var number *big.Float
	if !in.IsKnown() || in.IsNull() || in.As(&number) != nil || number.IsInt() {
		return nil
	}
	return number
}

// percentValidator rejects 0, which the platform accepts: it then stops the process again and again.
func percentValidator() validator.Float64 {
	return aboveZero{
		max: 100, summary: "Invalid Percentage", unit: "percent of the whole machine",
		zero: "With 0, the agent would stop the process as soon as it runs",
	}
}

// shareValidator warns of a percentage below 1, which was probably meant as a share of 1.
type shareValidator struct{}

func (shareValidator) Description(context.Context) string { return "should be at least 1 percent" }

func (v shareValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (shareValidator) ValidateFloat64(_ context.Context, req validator.Float64Request, resp *validator.Float64Response) {
	if value := req.ConfigValue.ValueFloat64(); value > 0 && value < 1 {
		addWarning(&resp.Diagnostics, req.Path, "Low Limit", fmt.Sprintf("%v is less than one percent of the whole machine, and the agent stops a process that exceeds it. "+
			"If you mean %.4g %% of the machine, write %.4g", value, value*100, value*100))
	}
}

// RateValidator accepts a number of requests per second: more than 0, at most 100,000.
func RateValidator() validator.Float64 {
	return aboveZero{max: 100000, summary: "Invalid Rate", unit: "requests per second", zero: "To set no limit, leave it out"}
}

// aboveZero accepts numbers above 0, up to a maximum.
type aboveZero struct {
	max                 float64
	summary, unit, zero string // zero is the effect of the value 0, or advice for it
}

func (v aboveZero) Description(context.Context) string {
	return fmt.Sprintf("must be more than 0 and at most %v %s", v.max, v.unit)
}

func (v aboveZero) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v aboveZero) ValidateFloat64(ctx context.Context, req validator.Float64Request, resp *validator.Float64Response) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	value := req.ConfigValue.ValueFloat64()
	if value > 0 && value <= v.max {
		return
	}
	text := fmt.Sprintf("the value %s; got %v", v.Description(ctx), value)
	if value <= 0 {
		text += ". " + v.zero
	}
	AddInvalid(&resp.Diagnostics, req.Path, v.summary, text)
}

// DurationValidator accepts a Go duration, such as "30s", of at least Min.
type DurationValidator struct{ Min time.Duration }

// Description implements validator.String.
func (v DurationValidator) Description(context.Context) string {
	return fmt.Sprintf(`must be a duration of at least %s, such as "500ms", "30s" or "2m"`, v.Min)
}

// MarkdownDescription implements validator.String.
func (v DurationValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateString adds an error for anything else; null and unknown values pass.
func (v DurationValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if d, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || d < v.Min {
		AddInvalid(&resp.Diagnostics, req.Path, "Invalid Duration",
			fmt.Sprintf("the value %s; got %q", v.Description(ctx), req.ConfigValue.ValueString()))
	}
}
