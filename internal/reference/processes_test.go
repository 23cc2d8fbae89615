package reference_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// The processes and their order are known once all processes and their priorities are.
func TestProcesses_known(t *testing.T) {
	t.Parallel()
	typ := types.ObjectType{AttrTypes: map[string]attr.Type{"priority": types.Int64Type}}
	first := types.ObjectValueMust(typ.AttrTypes, map[string]attr.Value{"priority": types.Int64Value(1)})
	later := types.ObjectValueMust(typ.AttrTypes, map[string]attr.Value{"priority": types.Int64Unknown()})
	for name, c := range map[string]struct {
		processes types.Map
		entries   int
		known     bool
	}{
		"one-process":    {types.MapNull(typ), 1, true},
		"all":            {types.MapValueMust(typ, map[string]attr.Value{"a": first, "b": first}), 2, true},
		"none-yet":       {types.MapUnknown(typ), 0, false},
		"priority-later": {types.MapValueMust(typ, map[string]attr.Value{"a": later, "b": first}), 2, false},
		"one-later":      {types.MapValueMust(typ, map[string]attr.Value{"a": types.ObjectUnknown(typ.AttrTypes), "b": first}), 1, false},
	} {
		entries, known := (&reference.GSEProcesses{Processes: c.processes}).Entries(t.Context())
		if len(entries) != c.entries || known != c.known {
			t.Errorf("%s: %d entries, known: %t", name, len(entries), known)
		}
	}
}
