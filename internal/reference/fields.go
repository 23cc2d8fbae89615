package reference

import (
	"context"
	"reflect"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The functions of this file do what methods of the framework do, for models whose fields are values of
// the attributes. The framework compiles a pattern for each field of each model, and converts each value
// three times. Whatever is not as usual is left to it, and so are its messages.

// fieldsOf caches the fields of models by their tags, for each type of a model.
var fieldsOf sync.Map

// taggedFields are the fields of a model by the names of their attributes, those of embedded models
// included.
func taggedFields(model reflect.Type) map[string][]int {
	if known, is := fieldsOf.Load(model); is {
		return known.(map[string][]int) //nolint:forcetypeassert // nothing else is stored
	}
	fields := make(map[string][]int)
	for _, field := range reflect.VisibleFields(model) {
		if name, tagged := field.Tag.Lookup("tfsdk"); tagged {
			fields[name] = field.Index
		}
	}
	fieldsOf.Store(model, fields)
	return fields
}

// Get is the method Get of a state. A plan or a configuration converts to one.
func Get(ctx context.Context, state tfsdk.State, model any) diag.Diagnostics {
	if raw := make(map[string]tftypes.Value); state.Raw.IsKnown() && state.Raw.As(&raw) == nil && getAll(ctx, state.Schema.GetAttributes(), raw, model) {
		return nil
	}
	return state.Get(ctx, model)
}

// getAll reports whether each field of a model has a value, and each value a field.
func getAll[A interface{ GetType() attr.Type }](ctx context.Context, attributes map[string]A, raw map[string]tftypes.Value, model any) bool {
	to := reflect.ValueOf(model).Elem()
	fields := taggedFields(to.Type())
	if len(fields) != len(attributes) || len(raw) != len(attributes) {
		return false
	}
	for name, attribute := range attributes {
		index, has := fields[name]
		typ := attribute.GetType()
		value, err := typ.ValueFromTerraform(ctx, raw[name])
		if err != nil || !has || !isValid(ctx, typ, raw[name]) || !assign(value, to.FieldByIndex(index)) {
			return false
		}
	}
	return true
}

// isValid asks a type as the framework does, if it checks values.
func isValid(ctx context.Context, typ attr.Type, raw tftypes.Value) bool {
	checks, is := typ.(xattr.TypeWithValidate) //nolint:staticcheck // as long as the framework has it
	return !is || len(checks.Validate(ctx, raw, path.Empty())) == 0
}

// As is the method As of an object.
func As(ctx context.Context, object types.Object, model any) diag.Diagnostics {
	if assign(object, reflect.ValueOf(model).Elem()) {
		return nil
	}
	return object.As(ctx, model, basetypes.ObjectAsOptions{})
}

// assign reports whether a value could be assigned to a field. A null object is only that of a pointer.
func assign(value attr.Value, to reflect.Value) bool {
	if _, checks := value.(xattr.ValidateableAttribute); checks || value == nil {
		return false
	}
	if from := reflect.ValueOf(value); from.Type() == to.Type() {
		to.Set(from)
		return true
	}
	switch to.Kind() {
	case reflect.Pointer:
		if value.IsNull() {
			to.SetZero()
			return true
		}
		to.Set(reflect.New(to.Type().Elem()))
		return assign(value, to.Elem())
	case reflect.Slice:
		list, is := value.(types.List)
		return is && assignElements(list, to)
	case reflect.Struct:
		object, is := value.(types.Object)
		return is && !object.IsNull() && !object.IsUnknown() && assignFields(object.Attributes(), to)
	default:
		return false
	}
}

func assignFields(attributes map[string]attr.Value, to reflect.Value) bool {
	fields := taggedFields(to.Type())
	if len(fields) == 0 || len(fields) != len(attributes) {
		return false
	}
	for name, index := range fields {
		if !assign(attributes[name], to.FieldByIndex(index)) {
			return false
		}
	}
	return true
}

func assignElements(list types.List, to reflect.Value) bool {
	if list.IsUnknown() {
		return false
	}
	to.SetZero() // as for null
	if list.IsNull() {
		return true
	}
	elements := list.Elements()
	to.Set(reflect.MakeSlice(to.Type(), len(elements), len(elements)))
	for i, element := range elements {
		if !assign(element, to.Index(i)) {
			return false
		}
	}
	return true
}

// Set is the method Set of a state.
func Set(ctx context.Context, state *tfsdk.State, model any) diag.Diagnostics {
	from, raw := reflect.ValueOf(model).Elem(), make(map[string]tftypes.Value)
	for name, index := range taggedFields(from.Type()) {
		value, is := from.FieldByIndex(index).Interface().(attr.Value)
		if !is {
			return state.Set(ctx, model)
		}
		converted, err := value.ToTerraformValue(ctx)
		if err != nil {
			return state.Set(ctx, model)
		}
		raw[name] = converted
	}
	if typ := state.Raw.Type(); typ != nil && tftypes.ValidateValue(typ, raw) == nil {
		state.Raw = tftypes.NewValue(typ, raw)
		return nil
	}
	return state.Set(ctx, model)
}
