package fold

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var (
	mapType    = tftypes.Map{ElementType: tftypes.String}
	objectType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"after": tftypes.Number, "before": tftypes.List{ElementType: tftypes.String}, "hosts": mapType,
	}}
	foldedType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"after": tftypes.Number, "before": tftypes.List{ElementType: tftypes.String}, "hosts": tftypes.String,
	}}
)

func text(s any) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }

func hosts(content any) tftypes.Value { return tftypes.NewValue(mapType, content) }

func object(hosts tftypes.Value) tftypes.Value {
	return tftypes.NewValue(objectType, map[string]tftypes.Value{
		"after":  tftypes.NewValue(tftypes.Number, 7),
		"before": tftypes.NewValue(objectType.AttributeTypes["before"], []tftypes.Value{text("a"), text(tftypes.UnknownValue), text(nil)}),
		"hosts":  hosts,
	})
}

func dynamic(t *testing.T, typ tftypes.Type, value tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	d, err := tfprotov6.NewDynamicValue(typ, value)
	fine(t, err)
	return &d
}

// A folded value is a string that the framework can read, and unfolds to the original value.
func TestFold_roundTrip(t *testing.T) {
	t.Parallel()
	long := make(map[string]tftypes.Value)
	for i := range 70000 { // more than fit a 16-bit length
		long[fmt.Sprint(i)] = text("0:10.0.0.1")
	}
	for name, value := range map[string]tftypes.Value{
		"full":            object(hosts(map[string]tftypes.Value{"a": text("0:10.0.0.1"), "é \x00": text("")})),
		"empty":           object(hosts(map[string]tftypes.Value{})),
		"null":            object(hosts(nil)),
		"unknown":         object(hosts(tftypes.UnknownValue)),
		"partly unknown":  object(hosts(map[string]tftypes.Value{"a": text(tftypes.UnknownValue), "b": text(nil), "c": text("c")})),
		"long":            object(hosts(long)),
		"no object":       tftypes.NewValue(objectType, nil),
		"unknown object ": tftypes.NewValue(objectType, tftypes.UnknownValue),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &dynamicValues{folded: attributes{"hosts": Type{}}}
			folded := d.fold(dynamic(t, objectType, value))
			if d.err != nil {
				t.Fatal(d.err)
			}
			if _, err := folded.Unmarshal(foldedType); err != nil {
				t.Errorf("folded: %s", err)
			}
			back, err := d.unfold(folded).Unmarshal(objectType)
			if err != nil || d.err != nil {
				t.Fatal(err, d.err)
			}
			if !back.Equal(value) {
				t.Errorf("came back as %s", back)
			}
		})
	}
}

// Terraform may know that an unknown map is not null, or how long it is. A string has no such refinements.
func TestFold_refinedUnknown(t *testing.T) {
	t.Parallel()
	refined := []byte{0x81, 0xa5, 'h', 'o', 's', 't', 's', 0xc7, 0x05, 0x0c, 0x82, 0x01, 0xc2, 0x05, 0x02}
	d := &dynamicValues{folded: attributes{"hosts": Type{}}}
	folded := d.fold(&tfprotov6.DynamicValue{MsgPack: refined})
	want := append(refined[:7:7], 0xd4, 0x00, 0x00)
	if diff := cmp.Diff(want, folded.MsgPack); diff != "" || d.err != nil {
		t.Errorf("%v (-want +got):\n%s", d.err, diff)
	}
}

func TestFold_refused(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]tfprotov6.DynamicValue{
		"JSON":       {JSON: []byte(`{"hosts":{}}`)},
		"no object":  {MsgPack: []byte{0x91, 0xc0}},
		"cut off":    {MsgPack: []byte{0x82, 0xa5, 'h', 'o', 's', 't', 's', 0xc0}},
		"no content": {MsgPack: []byte{0x81, 0xa5, 'h', 'o', 's', 't', 's'}},
		"no key":     {MsgPack: []byte{0x81, 0x90, 0xc0}},
	} {
		d := &dynamicValues{folded: attributes{"hosts": Type{}}}
		if d.fold(&value); d.err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	d := &dynamicValues{folded: attributes{"hosts": Type{}}}
	if d.unfold(dynamic(t, objectType, object(hosts(map[string]tftypes.Value{"a": text("b")})))); d.err == nil {
		t.Error("what was never folded was unfolded")
	}
}

func TestMap(t *testing.T) {
	t.Parallel()
	d := &dynamicValues{folded: attributes{"hosts": Type{}}}
	readWire := func(wire *tfprotov6.DynamicValue) Map {
		folded, err := d.fold(wire).Unmarshal(foldedType)
		if err != nil || d.err != nil {
			t.Fatal(err, d.err)
		}
		var attributes map[string]tftypes.Value
		fine(t, folded.As(&attributes))
		value2, err := Type{}.ValueFromTerraform(t.Context(), attributes["hosts"])
		fine(t, err)
		m, ok := value2.(Map)
		if !ok {
			t.Fatalf("a %T", value2)
		}
		return m
	}
	read := func(value tftypes.Value) Map { return readWire(dynamic(t, objectType, object(value))) }
	type facts struct {
		Len                  int
		Null, Unknown, Fully bool
		Known                map[string]string
		All                  map[string]Element
	}
	for name, c := range map[string]struct {
		value tftypes.Value
		want  facts
	}{
		"full": {hosts(map[string]tftypes.Value{"a": text("1"), "b": text("2")}), facts{Len: 2, Fully: true,
			Known: map[string]string{"a": "1", "b": "2"}, All: map[string]Element{"a": {Value: "1"}, "b": {Value: "2"}}}},
		"empty":   {hosts(map[string]tftypes.Value{}), facts{Fully: true, Known: map[string]string{}, All: map[string]Element{}}},
		"null":    {hosts(nil), facts{Null: true, Fully: true, Known: map[string]string{}, All: map[string]Element{}}},
		"unknown": {hosts(tftypes.UnknownValue), facts{Unknown: true, Known: map[string]string{}, All: map[string]Element{}}},
		"partly": {hosts(map[string]tftypes.Value{"a": text(tftypes.UnknownValue), "b": text(nil), "c": text("3")}), facts{Len: 3,
			Known: map[string]string{"c": "3"}, All: map[string]Element{"a": {Unknown: true}, "b": {Null: true}, "c": {Value: "3"}}}},
	} {
		m := read(c.value)
		got := facts{Len: m.Len(), Null: m.IsNull(), Unknown: m.IsUnknown(), Fully: m.IsFullyKnown(), Known: maps.Collect(m.Known()), All: map[string]Element{}}
		for key, element := range m.All() {
			got.All[key] = element
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	made := NewMap(map[string]string{"b": "2", "a": "1"})
	// Terraform sorts the keys of a map. The encoder of dynamic does not, so the test writes the elements by hand in place of an empty map.
	wire := dynamic(t, objectType, object(hosts(map[string]tftypes.Value{})))
	empty, sorted := []byte("\xa5hosts\x80"), []byte("\xa5hosts\x82\xa1a\xa11\xa1b\xa12")
	if bytes.Count(wire.MsgPack, empty) != 1 {
		t.Fatalf("no empty hosts in %x", wire.MsgPack)
	}
	wire.MsgPack = bytes.Replace(wire.MsgPack, empty, sorted, 1)
	if sent := readWire(wire); !made.Equal(sent) {
		t.Error("made here and sent by Terraform, it is not the same")
	}
	if made.Equal(NewMap(map[string]string{"a": "1"})) || made.Equal(made.StringValue) || !NewMap(nil).Equal(NewMap(map[string]string{})) {
		t.Error("Equal is wrong")
	}
	if got := made.String(); got != "<2 elements>" {
		t.Errorf("printed as %s", got)
	}
}

// A string that is not a map has no elements, and nothing panics.
func FuzzMap(f *testing.F) {
	f.Add(NewMap(map[string]string{"a": "b"}).ValueString())
	f.Add("\xdf\xff\xff\xff\xff")
	f.Fuzz(func(t *testing.T, content string) {
		m := Map{basetypes.NewStringValue(content)}
		n := 0
		for range m.All() {
			n++
		}
		if n > max(0, m.Len()) || len(maps.Collect(m.Known())) > n {
			t.Errorf("%d elements of %d", n, m.Len())
		}
	})
}

// Texts of every length are read back, both those that are sliced and those that the library reads. A truncated one is not read.
func TestMap_lengths(t *testing.T) {
	t.Parallel()
	elements := map[string]string{}
	for _, n := range []int{0, 1, 31, 32, 255, 256, 65535, 65536} {
		elements[fmt.Sprintf("%05d", n)] = strings.Repeat("x", n)
	}
	whole := NewMap(elements)
	if diff := cmp.Diff(elements, maps.Collect(whole.Known())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text := whole.ValueString()
	for _, n := range []int{1, 8, 20, 60, 400, len(text) - 1} {
		if short := (Map{basetypes.NewStringValue(text[:n])}); len(maps.Collect(short.Known())) >= len(elements) {
			t.Errorf("%d bytes have every element", n)
		}
	}
}

func TestObjects_refusesOtherValues(t *testing.T) {
	t.Parallel()
	one := func(value any) iter.Seq2[string, []any] {
		return func(yield func(string, []any) bool) { yield("a", []any{value}) }
	}
	for value, fails := range map[any]bool{"text": false, true: false, int64(-1): false, 0.5: false, nil: false, make(chan int): true} {
		if _, err := NewObjects([]Attribute{{Name: "x"}}, 1, one(value)); (err != nil) != fails {
			t.Errorf("%T: %v", value, err)
		}
		if _, err := NewNested(map[string]any{"a": map[string]any{"x": value}}); (err != nil) != fails {
			t.Errorf("nested %T: %v", value, err)
		}
	}
}

func fine(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Each request and answer that contains a value is folded and unfolded, or listed here with a reason. A
// release of the protocol that adds one fails this test.
func TestServer_coversProtocol(t *testing.T) {
	t.Parallel()
	// These contain nothing that is folded: provider settings, arguments and identities.
	others := []string{
		"CallFunction", "CloseEphemeralResource", "ConfigureProvider", "OpenEphemeralResource", "RenewEphemeralResource",
		"UpgradeResourceIdentity", "ValidateEphemeralResourceConfig", "ValidateListResourceConfig", "ValidateProviderConfig",
	}
	protocol, server := reflect.TypeFor[Framework](), reflect.TypeFor[*Server]()
	for method := range protocol.Methods() {
		carries := false
		for parameter := range method.Type.Ins() {
			carries = carries || hasValue(parameter, nil)
		}
		for result := range method.Type.Outs() {
			carries = carries || hasValue(result, nil)
		}
		// The compiler generates a method that Server only inherits.
		own, _ := server.MethodByName(method.Name)
		file, _ := runtime.FuncForPC(own.Func.Pointer()).FileLine(own.Func.Pointer())
		switch folds := file != "<autogenerated>"; {
		case carries && !folds && !slices.Contains(others, method.Name):
			t.Errorf("%s carries values and is not folded", method.Name)
		case folds && slices.Contains(others, method.Name):
			t.Errorf("%s is folded and listed as one that is not", method.Name)
		}
	}
}

// hasValue searches a type, and what a stream yields, for a value.
func hasValue(typ reflect.Type, seen []reflect.Type) bool {
	if typ == reflect.TypeFor[tfprotov6.DynamicValue]() || typ == reflect.TypeFor[tfprotov6.RawState]() {
		return true
	}
	if slices.Contains(seen, typ) {
		return false
	}
	seen = append(seen, typ)
	switch typ.Kind() { //nolint:exhaustive // the others hold nothing
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return hasValue(typ.Elem(), seen)
	case reflect.Struct:
		for field := range typ.Fields() {
			if hasValue(field.Type, seen) {
				return true
			}
		}
	case reflect.Func:
		for parameter := range typ.Ins() {
			if hasValue(parameter, seen) {
				return true
			}
		}
	}
	return false
}
