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

// The functions of this file are faster versions of methods of the framework, for models whose fields have
// the types of the attributes. The framework compiles a pattern for each field of each model, and converts
// each value three times. In any other case, and to report errors, these functions call the framework.

// fieldsOf caches the result of taggedFields for each type of model.
var fieldsOf sync.Map

// taggedFields returns the fields of a model by the names of their attributes, including those of embedded
// models.
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

// Get does what state.Get does. A plan or a configuration can be converted to a state.
func Get(ctx context.Context, state tfsdk.State, model any) diag.Diagnostics {
	if raw := make(map[string]tftypes.Value); state.Raw.IsKnown() && state.Raw.As(&raw) == nil && getAll(ctx, state.Schema.GetAttributes(), raw, model) {
		return nil
	}
	return state.Get(ctx, model)
}

// getAll sets the fields of a model, and reports whether each field got a value and each value has a field.
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

// isValid reports whether a type accepts a value. As in the framework, not every type checks values.
func isValid(ctx context.Context, typ attr.Type, raw tftypes.Value) bool {
	checks, is := typ.(xattr.TypeWithValidate) //nolint:staticcheck // as long as the framework has it
	return !is || len(checks.Validate(ctx, raw, path.Empty())) == 0
}

// As does what object.As does.
func As(ctx context.Context, object types.Object, model any) diag.Diagnostics {
	if assign(object, reflect.ValueOf(model).Elem()) {
		return nil
	}
	return object.As(ctx, model, basetypes.ObjectAsOptions{})
}

// assign assigns a value to a field, and reports whether it could. A null object fits only a pointer.
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

// Set does what state.Set does.
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
