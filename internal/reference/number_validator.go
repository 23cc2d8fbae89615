package reference

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// percentValidator: the platform takes 0 and then stops the process at once, again
// and again.
func percentValidator() validator.Float64 {
	return aboveZero{
		max: 100, summary: "Invalid Percentage", unit: "percent of the whole machine",
		zero: "With 0 the agent would stop the process as soon as it runs",
	}
}

func RateValidator() validator.Float64 {
	return aboveZero{max: 100000, summary: "Invalid Rate", unit: "requests a second", zero: "For no limit, leave it out"}
}

// aboveZero wants more than nothing, up to a maximum.
type aboveZero struct {
	max                 float64
	summary, unit, zero string // zero is what to know of 0
}

func (v aboveZero) Description(context.Context) string {
	return fmt.Sprintf("must be above 0 and up to %v %s", v.max, v.unit)
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
