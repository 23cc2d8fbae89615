package reference

import (
	"context"
	"time"

	datasourcetimeouts "github.com/hashicorp/terraform-plugin-framework-timeouts/datasource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// These timeouts apply if the configuration sets none. A healthy platform answers a registration in seconds; a
// broken agent may never answer.
const (
	DefaultChangeTimeout = 10 * time.Minute
	DefaultReadTimeout   = 2 * time.Minute
)

// TimeoutsDescription describes the timeouts of every object that queries hosts.
const TimeoutsDescription = "Deadlines, such as `\"15m\"`. When one expires, everything known so far is kept, and hosts without a result are named."

// TimeoutsAttribute declares timeouts. It adds what the library lacks: a description, and a validator that
// rejects a deadline of zero.
func TimeoutsAttribute(ctx context.Context, opts timeouts.Opts) schema.Attribute {
	attribute := timeouts.Attributes(ctx, opts)
	if nested, ok := attribute.(schema.SingleNestedAttribute); ok {
		nested.MarkdownDescription = TimeoutsDescription
		nested.Validators = []validator.Object{NotEmpty()}
		for name, one := range nested.Attributes {
			if text, ok := one.(schema.StringAttribute); ok {
				text.Validators = deadlineValidators
				text.MarkdownDescription = text.Description // the library has it as plain text
				nested.Attributes[name] = text
			}
		}
		return nested
	}
	return attribute
}

// DeadlineAttribute declares the only deadline of an action or a data source. what is the noun phrase for
// TimeoutDescription.
func DeadlineAttribute(name, what string, defaultTimeout time.Duration) map[string]schema.Attribute {
	return map[string]schema.Attribute{name: schema.StringAttribute{
		MarkdownDescription: TimeoutDescription(what, defaultTimeout), Optional: true, Validators: deadlineValidators,
	}}
}

// DataSourceTimeouts declares the timeouts of a data source; what is as in DeadlineAttribute.
func DataSourceTimeouts(ctx context.Context, what string) datasource.Attribute {
	return dataSourceTimeouts(ctx, what, TimeoutsDescription)
}

// ReadTimeouts declares the timeouts of a data source whose result is complete or an error.
func ReadTimeouts(ctx context.Context) datasource.Attribute {
	return dataSourceTimeouts(ctx, "the whole read", "Deadlines, such as `\"15m\"`. When one expires, the read fails, because a partial result would look complete.")
}

func dataSourceTimeouts(ctx context.Context, what, description string) datasource.Attribute {
	attribute := datasourcetimeouts.Attributes(ctx)
	if nested, ok := attribute.(datasource.SingleNestedAttribute); ok {
		nested.MarkdownDescription = description
		nested.Validators = []validator.Object{NotEmpty()}
		nested.Attributes = DataSourceAttributes(DeadlineAttribute("read", what, DefaultReadTimeout))
		return nested
	}
	return attribute
}

// The library's own validator accepts a deadline of zero.
var deadlineValidators = []validator.String{DurationValidator{Min: time.Millisecond}}

// TimeoutDescription describes one deadline; what is a noun phrase for what it limits.
func TimeoutDescription(what string, defaultTimeout time.Duration) string {
	return "For " + what + ". Defaults to `" + defaultTimeout.String() + "`."
}
