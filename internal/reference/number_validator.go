package reference

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// percentValidator does not accept 0: the platform does, and then stops the process at
// once, again and again.
func percentValidator() validator.Float64 {
	return aboveZero{
		max: 100, summary: "Invalid Percentage", unit: "percent of the whole machine",
		zero: "With 0, the agent would stop the process as soon as it runs",
	}
}

// RateValidator accepts a number of requests per second: more than 0, at most 100,000.
func RateValidator() validator.Float64 {
	return aboveZero{max: 100000, summary: "Invalid Rate", unit: "requests per second", zero: "To set no limit, leave it out"}
}

// aboveZero accepts numbers above 0, up to a maximum.
type aboveZero struct {
	max                 float64
	summary, unit, zero string // zero says what to do instead of 0, or what it would do
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
