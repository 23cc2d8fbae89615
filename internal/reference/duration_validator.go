package reference

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// DurationValidator accepts a Go duration, such as "30s", of at least Min.
type DurationValidator struct{ Min time.Duration }

// Description says what is accepted, in plain text.
func (v DurationValidator) Description(context.Context) string {
	return fmt.Sprintf(`must be a duration of at least %s, such as "500ms", "30s" or "2m"`, v.Min)
}

// MarkdownDescription is Description: nothing in it needs Markdown.
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
