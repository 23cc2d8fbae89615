package reference

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// Deadlines where the configuration sets none. A platform that works answers a
// registration in seconds; a broken agent may never answer.
const (
	DefaultChangeTimeout = 10 * time.Minute
	DefaultReadTimeout   = 2 * time.Minute
)

const TimeoutsDescription = "Deadlines. When one is up, what is known is kept, and the hosts without a verdict are named."

// TimeoutsAttribute adds the description that the library leaves out.
func TimeoutsAttribute(ctx context.Context, opts timeouts.Opts) schema.Attribute {
	attribute := timeouts.Attributes(ctx, opts)
	if nested, ok := attribute.(schema.SingleNestedAttribute); ok {
		nested.MarkdownDescription = TimeoutsDescription
		for name, one := range nested.Attributes {
			if text, ok := one.(schema.StringAttribute); ok {
				text.Validators = deadlineValidators
				nested.Attributes[name] = text
			}
		}
		return nested
	}
	return attribute
}

// DeadlineAttribute is the one deadline of what is no resource.
func DeadlineAttribute(name, what string, defaultTimeout time.Duration) map[string]schema.Attribute {
	return map[string]schema.Attribute{name: schema.StringAttribute{
		MarkdownDescription: TimeoutDescription(what, defaultTimeout), Optional: true, Validators: deadlineValidators,
	}}
}

// The library's own validator takes a deadline that is over at once.
var deadlineValidators = []validator.String{DurationValidator{Min: time.Millisecond}}

func TimeoutDescription(what string, defaultTimeout time.Duration) string {
	return "Time for " + what + ", a duration such as `\"15m\"`. Defaults to `" + defaultTimeout.String() + "`."
}
