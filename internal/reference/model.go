package reference

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// Model is the part of an object's values that says which process it is about, and on
// which hosts. GSE and JOB name processes differently; everything after Open is the same.
type Model interface {
	// Open returns the process on the platform. Every value must be known. owner is the
	// id of the object that registers, "" for one that does not.
	Open(ctx context.Context, p *platform.Platform, owner string) (Target, diag.Diagnostics)
	// Identifier is the object's id, unknown while any part of it is.
	Identifier(ctx context.Context) types.String
	// Check reports what the platform would refuse or silently change. p is nil while
	// only the configuration is known.
	Check(p *platform.Platform) diag.Diagnostics
	// takesAgentIDs reports whether hosts may be given by agent id.
	takesAgentIDs(p *platform.Platform) bool
	// HostsMap is the value of hosts, which may be replaced through the pointer.
	HostsMap() *HostMap
	// definition is everything but the hosts: if it changes, it is another process, or
	// the process is to run in another way.
	definition() []attr.Value
	// commands returns the object that holds the commands of operations, and its path in
	// the configuration.
	commands(ctx context.Context, config tfsdk.Config) (types.Object, path.Path)
}

// SameDefinition reports whether two models are about the same process, run in the same
// way. Their hosts may differ.
func SameDefinition(a, b Model) bool {
	theirs := b.definition()
	for i, value := range a.definition() {
		if !value.Equal(theirs[i]) {
			return false
		}
	}
	return true
}

// DefinitionKnown reports whether everything but the hosts is known.
func DefinitionKnown(ctx context.Context, m Model) bool { return Known(ctx, m.definition()...) }
