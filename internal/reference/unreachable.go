package reference

import (
	"cmp"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// MaxUnreachableAttribute declares max_unreachable_hosts. more says what happens to these hosts and ends with
// a space, or is empty.
func MaxUnreachableAttribute(more string) schema.StringAttribute {
	return ToleranceAttribute("How many hosts may be [unreachable](../guides/drift-in-ci.md#agents-that-are-always-down) without failing the apply: a number or a percentage, rounded down. " +
		more + "Defaults to the provider's `max_unreachable_hosts`, which defaults to `0`.")
}

// UnreachableAttribute declares unreachable; more says what its values are.
func UnreachableAttribute(more string) schema.MapAttribute {
	return schema.MapAttribute{MarkdownDescription: "Unreachable hosts that `max_unreachable_hosts` allows: host key to " + more, Computed: true, ElementType: types.StringType}
}

// MaxUnreachable is the max_unreachable_hosts of an object: as configured, and as a number of its hosts.
type MaxUnreachable struct {
	Set   string
	Hosts int
}

// MaxUnreachableOf returns it for an object with this many hosts, from its own setting or the provider's.
func MaxUnreachableOf(p *platform.Platform, value types.String, hosts int) MaxUnreachable {
	set := value.ValueString()
	if p != nil {
		set = cmp.Or(set, p.MaxUnreachable)
	}
	set = cmp.Or(set, "0")
	tolerance, _ := fleet.ParseTolerance(set) // validators have checked it
	return MaxUnreachable{Set: set, Hosts: tolerance.Of(hosts)}
}
