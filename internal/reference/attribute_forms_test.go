package reference

import (
	"math/big"
	"reflect"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	action "github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
)

// convertible are the kinds of attribute that have other forms.
var convertible = map[string]resource.Attribute{
	"text": resource.StringAttribute{}, "integer": resource.Int64Attribute{}, "float": resource.Float64Attribute{},
	"dictionary": resource.MapAttribute{}, "object": resource.SingleNestedAttribute{}, "list": resource.ListNestedAttribute{},
	"sequence": resource.ListAttribute{}, "objects": resource.MapNestedAttribute{},
}

// An attribute keeps every property that its other form also has, even one that a later release of the
// framework adds.
func TestAttributeForms(t *testing.T) {
	t.Parallel()
	if want := reflect.TypeFor[attributeForms[any]]().NumField(); len(convertible) != want {
		t.Errorf("%d kinds of attribute are converted and %d tried", want, len(convertible))
	}
	for kind, attribute := range convertible {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			marked := reflect.New(reflect.TypeOf(attribute)).Elem()
			markEach(t, marked)
			source, ok := marked.Interface().(resource.Attribute)
			if !ok {
				t.Fatal("not an attribute")
			}
			attributes := map[string]resource.Attribute{"marked": source}
			keepsAll(t, "action", marked, reflect.ValueOf(ActionAttributes(attributes)["marked"]))
			keepsAll(t, "data source", marked, reflect.ValueOf(DataSourceAttributes(attributes)["marked"]))
		})
	}
}

// marks are values of the types that properties have, none of them the zero value.
var marks = func() map[reflect.Type]reflect.Value {
	marks := make(map[reflect.Type]reflect.Value)
	for _, mark := range []any{
		new(true), new("text"), new([]validator.String{md5Validator()}), new([]validator.Int64{int64validator.AtLeast(1)}),
		new([]validator.Float64{percentValidator()}), new([]validator.Map{mapvalidator.SizeAtLeast(1)}), new([]validator.Object{rolloutValidator{}}),
		new([]validator.List{listvalidator.SizeAtLeast(1)}), new(attr.Type(basetypes.BoolType{})),
		new(basetypes.StringTypable(basetypes.StringType{})), new(basetypes.Int64Typable(basetypes.Int64Type{})),
		new(basetypes.Float64Typable(basetypes.Float64Type{})), new(basetypes.MapTypable(basetypes.MapType{})),
		new(basetypes.ObjectTypable(basetypes.ObjectType{})), new(basetypes.ListTypable(basetypes.ListType{})),
		new(map[string]resource.Attribute{"nested": resource.StringAttribute{Optional: true}}),
	} {
		value := reflect.ValueOf(mark).Elem()
		marks[value.Type()] = value
	}
	return marks
}()

// resourceOnly are properties that only a resource needs, for a plan.
var resourceOnly = []string{"PlanModifiers", "Default"}

func markEach(t *testing.T, attribute reflect.Value) {
	t.Helper()
	for i := range attribute.NumField() {
		field := attribute.Type().Field(i)
		mark, known := marks[field.Type]
		switch {
		case slices.Contains(resourceOnly, field.Name):
		case known:
			attribute.Field(i).Set(mark)
		case field.Type == reflect.TypeFor[resource.NestedAttributeObject]():
			markEach(t, attribute.Field(i))
		default:
			t.Errorf("%s.%s: nothing to mark a %s with", attribute.Type(), field.Name, field.Type)
		}
	}
}

func keepsAll(t *testing.T, where string, marked, form reflect.Value) {
	t.Helper()
	for i := range form.NumField() {
		name := form.Type().Field(i).Name
		from := marked.FieldByName(name)
		if !from.IsValid() {
			t.Errorf("%s: %s.%s is in no resource", where, form.Type(), name)
			continue
		}
		switch got := form.Field(i).Interface().(type) {
		case action.NestedAttributeObject, datasource.NestedAttributeObject:
			keepsAll(t, where, from, form.Field(i))
		case map[string]action.Attribute:
			keepsNested(t, where, got["nested"], len(got))
		case map[string]datasource.Attribute:
			keepsNested(t, where, got["nested"], len(got))
		default:
			if !reflect.DeepEqual(got, from.Interface()) {
				t.Errorf("%s: %s.%s is %v, was %v", where, form.Type(), name, got, from)
			}
		}
	}
}

// optional is implemented by nested attributes.
type optional interface{ IsOptional() bool }

func keepsNested(t *testing.T, where string, nested optional, count int) {
	t.Helper()
	if count != 1 || nested == nil || !nested.IsOptional() {
		t.Errorf("%s: the nested attribute is %v of %d", where, nested, count)
	}
}

// A limit has the same number after an import as in a configuration, or the first plan would not be empty.
func TestHostedSpec_limits(t *testing.T) {
	t.Parallel()
	for n, text := range map[float64]string{10.1: "10.1", 10.100000381469727: "10.1", 20: "20", 0.5: "0.5"} {
		want, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		if spec, _ := HostedSpec(t.Context(), hostedspec.Entry{CPU: n}, nil).(specModel); spec.Resource != nil {
			t.Errorf("%v alone is %v", n, spec.Resource)
		}
		spec, _ := HostedSpec(t.Context(), hostedspec.Entry{CPU: n, Mem: 1}, nil).(specModel)
		if got, err := spec.Resource.CPU.ToTerraformValue(t.Context()); err != nil || !got.Equal(tftypes.NewValue(tftypes.Number, want)) {
			t.Errorf("%v is %s, want %s: %v", n, got, text, err)
		}
	}
}
