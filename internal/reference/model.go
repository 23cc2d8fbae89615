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

// Model is the part of a model that says which process it is about, and
// where. GSE and JOB name processes differently; all that follows is the same.
type Model interface {
	// Open gives the process on the platform. Every value must be known.
	Open(ctx context.Context, p *platform.Platform) (Target, diag.Diagnostics)
	// Identifier is the id, unknown while what it is made of is.
	Identifier(ctx context.Context) types.String
	// Check finds what the platform would refuse or silently change. p is nil while
	// only the configuration is known.
	Check(p *platform.Platform) diag.Diagnostics
	// takesAgentIDs tells whether hosts may be given by agent id.
	takesAgentIDs(p *platform.Platform) bool
	// HostsMap is the hosts map of the model.
	HostsMap() *HostMap
	// definition is everything else: when it changes, the process is another, or
	// is to run otherwise.
	definition() []attr.Value
	// commands are the object that holds the commands of operations, and where it
	// stands in the configuration.
	commands(ctx context.Context, config tfsdk.Config) (types.Object, path.Path)
}

// SameDefinition tells whether two models are about the same process, run in the
// same way.
func SameDefinition(a, b Model) bool {
	theirs := b.definition()
	for i, value := range a.definition() {
		if !value.Equal(theirs[i]) {
			return false
		}
	}
	return true
}
