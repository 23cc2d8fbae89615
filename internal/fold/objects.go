package fold

import (
	"bytes"
	"context"
	"iter"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
)

var (
	_ basetypes.StringTypable  = ObjectsType{}
	_ basetypes.StringValuable = Objects{}
)

// Attribute is an attribute of a computed object.
type Attribute struct {
	Name        string
	Type        tftypes.Type
	Description string // in Markdown
}

// ObjectsType is the custom type of a string attribute that contains a folded map of objects. Like
// [MapsType], it is only for attributes that a data source computes.
type ObjectsType struct {
	basetypes.StringType

	Attributes []Attribute // of each object
	// Nested is the type of the whole, if the objects contain other objects.
	Nested tftypes.Type
}

// Equal implements attr.Type.
func (ObjectsType) Equal(other attr.Type) bool {
	_, same := other.(ObjectsType)
	return same
}

// String implements attr.Type.
func (ObjectsType) String() string { return "fold.ObjectsType" }

func (t ObjectsType) show(attribute *tfprotov6.SchemaAttribute) {
	if t.Nested != nil {
		attribute.Type = t.Nested
		return
	}
	object := &tfprotov6.SchemaObject{Nesting: tfprotov6.SchemaObjectNestingModeMap}
	for _, a := range t.Attributes {
		object.Attributes = append(object.Attributes, &tfprotov6.SchemaAttribute{
			Name: a.Name, Type: a.Type, Description: a.Description, DescriptionKind: tfprotov6.StringKindMarkdown, Computed: true,
		})
	}
	attribute.Type, attribute.NestedType = nil, object
}

// ValueType implements attr.Type.
func (ObjectsType) ValueType(context.Context) attr.Value { return Objects{} }

// ValueFromString implements basetypes.StringTypable.
func (ObjectsType) ValueFromString(_ context.Context, s basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Objects{s}, nil
}

// ValueFromTerraform implements attr.Type.
func (t ObjectsType) ValueFromTerraform(ctx context.Context, raw tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, raw)
	if err != nil {
		return nil, err
	}
	s, _ := value.(basetypes.StringValue) // the only type that StringType makes
	return Objects{s}, nil
}

// Objects is a folded map of objects. The zero value is null.
type Objects struct{ basetypes.StringValue }

// NewObjects folds n objects. Each has its values in the order of attributes. A value is a string, a bool, an
// int64, a float64 or nil.
func NewObjects(attributes []Attribute, n int, objects iter.Seq2[string, []any]) (Objects, error) {
	var (
		buffer bytes.Buffer
		to     = msgpack.NewEncoder(&buffer)
	)
	// Writing to a buffer cannot fail, but a value may have another type.
	_ = to.EncodeMapLen(n)
	for key, values := range objects {
		_ = to.EncodeString(key)
		_ = to.EncodeMapLen(len(attributes))
		for i, a := range attributes {
			_ = to.EncodeString(a.Name)
			if err := to.Encode(values[i]); err != nil {
				return Objects{}, err
			}
		}
	}
	return Objects{basetypes.NewStringValue(buffer.String())}, nil
}

// NewNested folds objects that contain others. They are of type map[string]any, down to values that
// [NewObjects] accepts.
func NewNested(objects map[string]any) (Objects, error) {
	var buffer bytes.Buffer
	to := msgpack.NewEncoder(&buffer)
	to.SetSortMapKeys(true)
	err := to.Encode(objects)
	return Objects{basetypes.NewStringValue(buffer.String())}, err
}

// Type implements attr.Value.
func (Objects) Type(context.Context) attr.Type { return ObjectsType{} }

// Equal implements attr.Value.
func (o Objects) Equal(other attr.Value) bool {
	same, ok := other.(Objects)
	return ok && o.StringValue.Equal(same.StringValue)
}
