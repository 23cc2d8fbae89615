package fold

import (
	"bytes"
	"context"
	"fmt"
	"iter"
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
	_ basetypes.StringTypable  = Type{}
	_ basetypes.StringValuable = Map{}
)

// Type is the custom type of a string attribute that contains a folded map.
type Type struct{ basetypes.StringType }

// Equal implements attr.Type.
func (t Type) Equal(other attr.Type) bool {
	_, same := other.(Type)
	return same
}

// String implements attr.Type.
func (Type) String() string { return "fold.Type" }

var unfolded = tftypes.Map{ElementType: tftypes.String}

func (Type) show(attribute *tfprotov6.SchemaAttribute) { attribute.Type = unfolded }

// ValueType implements attr.Type.
func (Type) ValueType(context.Context) attr.Value { return Map{} }

// ValueFromString implements basetypes.StringTypable.
func (Type) ValueFromString(_ context.Context, s basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Map{s}, nil
}

// ValueFromTerraform implements attr.Type.
func (t Type) ValueFromTerraform(ctx context.Context, raw tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, raw)
	if err != nil {
		return nil, err
	}
	s, ok := value.(basetypes.StringValue)
	if !ok {
		return nil, fmt.Errorf("a folded map is a %T", value)
	}
	if s.IsNull() || s.IsUnknown() {
		return Map{s}, nil
	}
	folded, err := fromState(s.ValueString())
	if err != nil {
		return nil, err
	}
	return Map{basetypes.NewStringValue(folded)}, nil
}

// Map is a map of strings, folded. The zero value is null.
type Map struct{ basetypes.StringValue }

// NewMap folds a map. A nil map is an empty one.
func NewMap(elements map[string]string) Map {
	present := make(map[string]*string, len(elements))
	for key, element := range elements {
		present[key] = &element
	}
	return Map{basetypes.NewStringValue(encode(present))}
}

// MapOf folds a map of strings.
func MapOf(ctx context.Context, m basetypes.MapValue) Map {
	if m.IsNull() {
		return Map{basetypes.NewStringNull()}
	}
	value, err := m.ToTerraformValue(ctx)
	if err != nil || m.IsUnknown() {
		return Map{basetypes.NewStringUnknown()}
	}
	folded, err := value.MarshalMsgPack(unfolded) //nolint:staticcheck // a test pins what it writes
	if err != nil {
		return Map{basetypes.NewStringUnknown()}
	}
	return Map{basetypes.NewStringValue(string(folded))}
}

// encode encodes elements in Terraform's order. A nil element is null.
func encode(elements map[string]*string) string {
	var (
		buffer bytes.Buffer
		to     = msgpack.NewEncoder(&buffer)
	)
	// Writing to a buffer cannot fail.
	_ = to.EncodeMapLen(len(elements))
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		_ = to.EncodeString(key)
		if element := elements[key]; element != nil {
			_ = to.EncodeString(*element)
		} else {
			_ = to.EncodeNil()
		}
	}
	return buffer.String()
}

// Type implements attr.Value.
func (Map) Type(context.Context) attr.Type { return Type{} }

// Equal implements attr.Value.
func (m Map) Equal(other attr.Value) bool {
	o, ok := other.(Map)
	return ok && m.StringValue.Equal(o.StringValue)
}

// String implements attr.Value.
func (m Map) String() string {
	if m.IsNull() || m.IsUnknown() {
		return m.StringValue.String()
	}
	return fmt.Sprintf("<%d elements>", m.Len())
}

// Len returns the number of elements, 0 if the map is null or unknown.
func (m Map) Len() int {
	if m.ValueString() == "" {
		return 0
	}
	n, _, err := cutMapLen(m.ValueString())
	if err != nil {
		return 0
	}
	return n
}

// Element is the value of a key.
type Element struct {
	Value string
	// Null and Unknown report that there is no value, or none yet.
	Null, Unknown bool
}

// All yields keys and elements in Terraform's order, without copying their texts.
func (m Map) All() iter.Seq2[string, Element] {
	return func(yield func(string, Element) bool) {
		if m.ValueString() == "" {
			return
		}
		n, rest, err := cutMapLen(m.ValueString())
		for i := 0; i < n && err == nil; i++ {
			var (
				key     string
				element Element
			)
			if key, rest, err = cutString(rest); err != nil {
				return
			}
			if element, rest, err = cutElement(rest); err != nil || !yield(key, element) {
				return
			}
		}
	}
}

// Known yields the elements that have a value, in Terraform's order.
func (m Map) Known() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for key, element := range m.All() {
			if !element.Null && !element.Unknown && !yield(key, element.Value) {
				return
			}
		}
	}
}

// SameAs reports whether both maps have the same known elements, whatever order they were folded in.
func (m Map) SameAs(other Map) bool {
	if m.ValueString() == other.ValueString() {
		return true
	}
	rest := maps.Collect(m.Known())
	for key, value := range other.Known() {
		if own, has := rest[key]; !has || own != value {
			return false
		}
		delete(rest, key)
	}
	return len(rest) == 0
}

// IsFullyKnown reports whether neither the map nor an element is unknown.
func (m Map) IsFullyKnown() bool {
	if m.IsUnknown() {
		return false
	}
	for _, element := range m.All() {
		if element.Unknown {
			return false
		}
	}
	return true
}
