package reference

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// inner, list and outer have a field of each kind that models have.
type (
	inner struct {
		Text types.String `tfsdk:"text"`
	}
	base struct {
		Number types.Int64 `tfsdk:"number"`
	}
	outer struct {
		base
		Object  inner     `tfsdk:"object"`
		Pointer *inner    `tfsdk:"pointer"`
		List    []inner   `tfsdk:"list"`
		Map     types.Map `tfsdk:"map"`
		Hosts   HostMap   `tfsdk:"hosts"`
	}
)

var (
	innerAttributes = map[string]schema.Attribute{"text": schema.StringAttribute{Optional: true}}
	outerSchema     = schema.Schema{Attributes: map[string]schema.Attribute{
		"number":  schema.Int64Attribute{Optional: true, CustomType: WholeNumber{}},
		"object":  schema.SingleNestedAttribute{Optional: true, Attributes: innerAttributes},
		"pointer": schema.SingleNestedAttribute{Optional: true, Attributes: innerAttributes},
		"list":    schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: innerAttributes}},
		"map":     schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"hosts":   hostsAttribute(),
	}}
)

// valuesOf returns values of outerSchema, including some that the framework refuses.
func valuesOf(ctx context.Context) map[string]tftypes.Value {
	whole, ok := outerSchema.Type().TerraformType(ctx).(tftypes.Object)
	if !ok {
		panic("a schema is an object")
	}
	value := func(name string, v any) tftypes.Value { return tftypes.NewValue(whole.AttributeTypes[name], v) }
	text := func(v any) map[string]tftypes.Value {
		return map[string]tftypes.Value{"text": tftypes.NewValue(tftypes.String, v)}
	}
	usual := func() map[string]tftypes.Value {
		return map[string]tftypes.Value{
			"number": value("number", 7), "object": value("object", text("a")), "pointer": value("pointer", text(nil)),
			"list":  value("list", []tftypes.Value{value("object", text("b")), value("object", text(tftypes.UnknownValue))}),
			"map":   value("map", map[string]tftypes.Value{"c": tftypes.NewValue(tftypes.String, "d")}),
			"hosts": value("hosts", NewHostMap(map[string]string{"web": "0:10.0.0.1"}).ValueString()),
		}
	}
	values := map[string]tftypes.Value{
		"usual": tftypes.NewValue(whole, usual()), "null": tftypes.NewValue(whole, nil), "unknown": tftypes.NewValue(whole, tftypes.UnknownValue),
	}
	for name := range whole.AttributeTypes {
		for what, content := range map[string]any{"null": nil, "unknown": tftypes.UnknownValue} {
			changed := usual()
			changed[name] = value(name, content)
			values[name+" "+what] = tftypes.NewValue(whole, changed)
		}
	}
	for name, content := range map[string]any{"list": []tftypes.Value{}, "map": map[string]tftypes.Value{}, "number": 1.5} {
		changed := usual()
		changed[name] = value(name, content)
		values[name+" of another kind"] = tftypes.NewValue(whole, changed)
	}
	return values
}

// Reading gives the framework's values, and refuses what the framework refuses.
func TestFields_readAsTheFramework(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, raw := range valuesOf(ctx) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := tfsdk.State{Raw: raw, Schema: outerSchema}
			var ours, theirs outer
			got, want := Get(ctx, state, &ours), state.Get(ctx, &theirs)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Get says (-framework +ours):\n%s", diff)
			}
			if !want.HasError() {
				compare(t, theirs, ours)
			}
			value, err := outerSchema.Type().ValueFromTerraform(ctx, raw)
			object, is := value.(types.Object)
			if err != nil || !is {
				t.Fatal(err)
			}
			ours, theirs = outer{}, outer{}
			got, want = As(ctx, object, &ours), object.As(ctx, &theirs, basetypes.ObjectAsOptions{})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("As says (-framework +ours):\n%s", diff)
			}
			if !want.HasError() {
				compare(t, theirs, ours)
			}
		})
	}
}

func compare(t *testing.T, theirs, ours outer) {
	t.Helper()
	if !reflect.DeepEqual(theirs, ours) {
		t.Errorf("framework: %+v\nours: %+v", theirs, ours)
	}
}

// A struct that is not the model of a schema is refused as the framework does.
func TestFields_otherModel(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	state := tfsdk.State{Raw: valuesOf(ctx)["usual"], Schema: outerSchema}
	var other struct {
		Number types.Int64 `tfsdk:"number"`
	}
	// The framework names fields in a random order.
	if got := Get(ctx, state, &other); !got.HasError() || !strings.Contains(got[0].Detail(), "Object defines fields not found in struct") {
		t.Errorf("Get says %v", got)
	}
	object := types.ObjectValueMust(map[string]attr.Type{"other": types.StringType}, map[string]attr.Value{"other": types.StringValue("x")})
	if got, want := As(ctx, object, &other), object.As(ctx, &other, basetypes.ObjectAsOptions{}); !got.HasError() || !got.Equal(want) {
		t.Errorf("As says %v, the framework %v", got, want)
	}
}

// Writing gives the framework's values. A null object without a type is left to the framework.
func TestFields_writeAsTheFramework(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	type model struct {
		Number types.Int64  `tfsdk:"number"`
		Object types.Object `tfsdk:"object"`
		Map    types.Map    `tfsdk:"map"`
	}
	of := schema.Schema{Attributes: map[string]schema.Attribute{
		"number": outerSchema.Attributes["number"], "object": outerSchema.Attributes["object"], "map": outerSchema.Attributes["map"],
	}}
	typ := of.Type().TerraformType(ctx)
	for name, m := range map[string]model{
		"usual": {
			Number: types.Int64Value(7), Map: StringMapValue(map[string]string{"a": "b"}),
			Object: types.ObjectValueMust(map[string]attr.Type{"text": types.StringType}, map[string]attr.Value{"text": types.StringValue("c")}),
		},
		"unknown": {Number: types.Int64Unknown(), Map: types.MapUnknown(types.StringType), Object: types.ObjectNull(map[string]attr.Type{"text": types.StringType})},
		"untyped": {Map: types.MapNull(types.StringType), Object: types.ObjectNull(nil)},
	} {
		ours, theirs := tfsdk.State{Raw: tftypes.NewValue(typ, nil), Schema: of}, tfsdk.State{Raw: tftypes.NewValue(typ, nil), Schema: of}
		got, want := Set(ctx, &ours, &m), theirs.Set(ctx, &m)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: says (-framework +ours):\n%s", name, diff)
		}
		if !ours.Raw.Equal(theirs.Raw) {
			t.Errorf("%s: %s, the framework writes %s", name, ours.Raw, theirs.Raw)
		}
	}
}

// Hosts are those of the map, with the faults and the supplier of the request, whatever was parsed before.
func TestInventories(t *testing.T) {
	t.Parallel()
	var (
		recent recentInventories
		all    sync.WaitGroup
		maps   = []HostMap{UnknownHostMap(), {}, NewHostMap(nil), NewHostMap(map[string]string{"a": "no address", "b": "0:10.0.0.1", "c": "0:10.0.0.1"})}
	)
	for i := range 2 * manyInventories {
		maps = append(maps, NewHostMap(map[string]string{"web": fmt.Sprintf("0:10.0.0.%d", i+1)}))
	}
	for range 4 {
		for _, hosts := range append(maps, maps[:8]...) {
			for supplier := range 2 {
				all.Go(func() {
					got, gotFaults := recent.of(hosts, supplier)
					want, wantFaults := fleet.NewInventory(hosts.Known(), supplier)
					if diff := cmp.Diff(want, got, cmp.AllowUnexported(fleet.Inventory{}), cmp.Comparer(func(a, b fleet.Host) bool { return a == b })); diff != "" {
						t.Errorf("hosts (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(fmt.Sprint(wantFaults), fmt.Sprint(gotFaults)); diff != "" {
						t.Errorf("faults (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
	all.Wait()
}

func TestStringMap(t *testing.T) {
	t.Parallel()
	elements := map[string]attr.Value{"a": types.StringValue("b"), "null": types.StringNull(), "later": types.StringUnknown()}
	if got := StringMap(types.MapValueMust(types.StringType, elements)); len(got) != 1 || got["a"] != "b" {
		t.Errorf("got %v", got)
	}
}
