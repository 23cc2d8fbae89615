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

// Model is the part of an object's values that identifies its process and the hosts. GSE and JOB name
// processes differently; after Open there is no difference.
type Model interface {
	// Open returns the process on the platform. Every value must be known. owner is the
	// id of the object that registers, "" for one that does not.
	Open(ctx context.Context, p *platform.Platform, owner string) (Target, diag.Diagnostics)
	// Identifier is the object's id, unknown while any part of it is.
	Identifier(ctx context.Context) types.String
	// onHost identifies the process among others on a host. It is unknown while any part of it is.
	onHost(ctx context.Context) types.String
	// Check reports what the platform would refuse or silently change. p is nil while only the
	// configuration is known.
	Check(ctx context.Context, p *platform.Platform) diag.Diagnostics
	// checkLabels reports labels that the provider writes itself.
	checkLabels(p *platform.Platform) diag.Diagnostics
	// CheckPeriod reports what the agent lacks to run a periodic process. An object that only stops or
	// reads does not need it.
	CheckPeriod(ctx context.Context) diag.Diagnostics
	// needsCommand reports whether an operation is rejected without its command. JOB's own sample stops a
	// process without one.
	needsCommand(operation fleet.Operation) bool
	// takesAgentIDs reports whether hosts may be given by agent id.
	takesAgentIDs(p *platform.Platform) bool
	// HostsMap is the value of hosts, and SetHosts replaces it.
	HostsMap(ctx context.Context) HostMap
	SetHosts(ctx context.Context, hosts HostMap)
	// InOneValue says what has to be set for other hosts if a declaration is set in place of the parts.
	// It is empty if there is no declaration.
	InOneValue() string
	// HasSpec reports whether there is a spec.
	HasSpec(ctx context.Context) bool
	// base is where the values are in the configuration.
	base() path.Path
	// definition is everything but the hosts: if it changes, it is another process, or the process runs
	// with another spec.
	definition() []attr.Value
	// reference is the definition as configured, which may be one value.
	reference() []attr.Value
	// given are the parts and what holds them, as configured, and how that is declared.
	given() (parts, declaration)
	// commands returns the object that holds the commands of operations, and its path in
	// the configuration.
	commands(ctx context.Context, config tfsdk.Config) (types.Object, path.Path)
	// resident reports whether the process is known to be permanent, limited whether it is known to have
	// resource limits.
	resident(ctx context.Context, config tfsdk.Config) bool
	// passing says, in terms of the configuration, that the process is known to end by itself. Otherwise
	// it is "".
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
