package fold

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
)

var (
	_ basetypes.StringTypable  = MapsType{}
	_ basetypes.StringValuable = Maps{}
)

// MapsType is the custom type of a string attribute that contains a folded map of maps. Only data sources
// compute such an attribute, so no method reads its elements and no state of a resource contains it.
type MapsType struct{ basetypes.StringType }

// Equal implements attr.Type.
func (MapsType) Equal(other attr.Type) bool {
	_, same := other.(MapsType)
	return same
}

// String implements attr.Type.
func (MapsType) String() string { return "fold.MapsType" }

func (MapsType) show(attribute *tfprotov6.SchemaAttribute) {
	attribute.Type = tftypes.Map{ElementType: unfolded}
}

// ValueType implements attr.Type.
func (MapsType) ValueType(context.Context) attr.Value { return Maps{} }

// ValueFromString implements basetypes.StringTypable.
func (MapsType) ValueFromString(_ context.Context, s basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Maps{s}, nil
}

// ValueFromTerraform implements attr.Type.
func (t MapsType) ValueFromTerraform(ctx context.Context, raw tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, raw)
	if err != nil {
		return nil, err
	}
	s, _ := value.(basetypes.StringValue) // the only type that StringType makes
	return Maps{s}, nil
}

// Maps is a folded map of maps of strings. The zero value is null.
type Maps struct{ basetypes.StringValue }

// NewMaps folds maps.
func NewMaps(byName map[string]map[string]string) Maps {
	var (
		buffer bytes.Buffer
		to     = msgpack.NewEncoder(&buffer)
	)
	// Writing to a buffer cannot fail.
	_ = to.EncodeMapLen(len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		_ = to.EncodeString(name)
		_ = to.Encode(msgpack.RawMessage(NewMap(byName[name]).ValueString()))
	}
	return Maps{basetypes.NewStringValue(buffer.String())}
}

// Type implements attr.Value.
func (Maps) Type(context.Context) attr.Type { return MapsType{} }

// Equal implements attr.Value.
func (m Maps) Equal(other attr.Value) bool {
	o, ok := other.(Maps)
	return ok && m.StringValue.Equal(o.StringValue)
}
