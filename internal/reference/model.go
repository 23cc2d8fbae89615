package reference

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// Model is the part of an object's values that identifies its process and hosts. GSE and JOB name processes
// differently; after Open there is no difference.
type Model interface {
	// Open returns the process on the platform. Every value must be known. owner is the id of the object
	// if it registers, or else "".
	Open(ctx context.Context, p *platform.Platform, owner string) (Target, diag.Diagnostics)
	// Identifier returns the object's id, unknown while any part of it is.
	Identifier(ctx context.Context) types.String
	// onHost returns what identifies the process on a host, unknown while any part of it is.
	onHost(ctx context.Context) types.String
	// Check reports what the platform would refuse or silently change. p is nil while only the
	// configuration is known.
	Check(ctx context.Context, p *platform.Platform) diag.Diagnostics
	// checkLabels reports labels that the provider writes itself.
	checkLabels(p *platform.Platform) diag.Diagnostics
	// CheckPeriod reports a missing period, without which the agent cannot run a periodic process. An object
	// that only stops or reads does not need one.
	CheckPeriod(ctx context.Context) diag.Diagnostics
	// needsCommand reports whether an operation without its command is an error. JOB's own sample stops a
	// process without a stop command.
	needsCommand(operation fleet.Operation) bool
	// takesAgentIDs reports whether hosts may be given by agent id.
	takesAgentIDs(p *platform.Platform) bool
	// HostsMap is the value of hosts, and SetHosts replaces it.
	HostsMap(ctx context.Context) HostMap
	SetHosts(ctx context.Context, hosts HostMap)
	// InOneValue says, for a message, what to set in place of a declaration to operate other hosts.
	// It is empty if no declaration is set.
	InOneValue() string
	// HasSpec reports whether there is a spec.
	HasSpec(ctx context.Context) bool
	// base is the path of the values in the configuration.
	base() path.Path
	// definition returns everything but the hosts: if it changes, it is another process, or the process
	// runs with another spec.
	definition() []attr.Value
	// reference returns the definition as configured, which may be one value.
	reference() []attr.Value
	// given returns the parts and the attribute for all of them, as configured, and the description of
	// that attribute.
	given() (parts, declaration)
	// commands returns the object that holds the commands of operations, and its path in
	// the configuration.
	commands(ctx context.Context, config tfsdk.Config) (types.Object, path.Path)
	// resident reports whether the process is known to keep running, limited whether it is known to have
	// resource limits.
	resident(ctx context.Context, config tfsdk.Config) bool
	// passing returns the setting, such as "auto_type 2", by which the process is known to end by itself, or
	// else "".
	passing(ctx context.Context, config tfsdk.Config) string
	limited(ctx context.Context, config tfsdk.Config) bool
}

// SameReference reports whether two models name the same process on the same hosts, and in the same form.
func SameReference(ctx context.Context, a, b Model) bool {
	theirs := b.reference()
	for i, value := range a.reference() {
		if !value.Equal(theirs[i]) {
			return false
		}
	}
	hosts := a.HostsMap(ctx)
	return hosts.IsFullyKnown() && hosts.SameAs(b.HostsMap(ctx))
}

// DefinitionKnown reports whether everything but the hosts is known.
func DefinitionKnown(ctx context.Context, m Model) bool { return Known(ctx, m.definition()...) }
