package reference

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// gseParts are what a process is to GSE, however the configuration gives it.
type gseParts struct {
	meta  types.Object
	hosts HostMap
	spec  types.Object
}

// encodedParts is the content of a process attribute: JSON without null attributes, so
// that an attribute which a later release adds changes nothing.
type encodedParts struct {
	Meta  json.RawMessage   `json:"meta"`
	Hosts map[string]string `json:"hosts"`
	Spec  json.RawMessage   `json:"spec,omitempty"`
}

// encode is the value of process, unknown while any part is.
func (p gseParts) encode(ctx context.Context) types.String {
	if !p.hosts.IsFullyKnown() || !Known(ctx, p.meta, p.spec) {
		return types.StringUnknown()
	}
	meta, err := encodeObject(ctx, p.meta)
	if err != nil {
		return types.StringUnknown()
	}
	spec, err := encodeObject(ctx, p.spec)
	if err != nil {
		return types.StringUnknown()
	}
	text, err := json.Marshal(encodedParts{Meta: meta, Hosts: p.hosts.Known(), Spec: spec})
	if err != nil {
		return types.StringUnknown()
	}
	return types.StringValue(string(text))
}

// decodeParts reads the value of process.
func decodeParts(ctx context.Context, text string) (gseParts, error) {
	var (
		encoded encodedParts
		parts   gseParts
		from    = json.NewDecoder(bytes.NewReader([]byte(text)))
		schemas = GSEAttributes(Options{})
	)
	from.DisallowUnknownFields()
	err := from.Decode(&encoded)
	if err != nil {
		return parts, err
	}
	if parts.meta, err = decodeObject(ctx, encoded.Meta, schemas["meta"].GetType()); err != nil {
		return parts, fmt.Errorf("meta: %w", err)
	}
	if parts.spec, err = decodeObject(ctx, encoded.Spec, schemas["spec"].GetType()); err != nil {
		return parts, fmt.Errorf("spec: %w", err)
	}
	if parts.meta.IsNull() || len(encoded.Hosts) == 0 {
		return parts, fmt.Errorf("meta or hosts is missing")
	}
	parts.hosts = NewHostMap(encoded.Hosts)
	return parts, nil
}

func encodeObject(ctx context.Context, object types.Object) (json.RawMessage, error) {
	if object.IsNull() {
		return nil, nil
	}
	value, err := object.ToTerraformValue(ctx)
	if err != nil {
		return nil, err
	}
	plain, err := plainValue(value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

func decodeObject(ctx context.Context, text json.RawMessage, typ attr.Type) (types.Object, error) {
	if len(text) == 0 {
		text = json.RawMessage("null")
	}
	value, err := tfprotov6.DynamicValue{JSON: text}.Unmarshal(typ.TerraformType(ctx))
	if err != nil {
		return types.Object{}, err
	}
	decoded, err := typ.ValueFromTerraform(ctx, value)
	object, _ := decoded.(types.Object)
	return object, err
}

// plainValue is a known value as encoding/json takes it.
func plainValue(v tftypes.Value) (any, error) {
	if v.IsNull() {
		return nil, nil
	}
	switch typ := v.Type(); {
	case typ.Is(tftypes.String):
		var text string
		err := v.As(&text)
		return text, err
	case typ.Is(tftypes.Bool):
		var is bool
		err := v.As(&is)
		return is, err
	case typ.Is(tftypes.Number):
		number := new(big.Float)
		err := v.As(&number)
		return json.Number(number.Text('f', -1)), err
	case typ.Is(tftypes.List{}):
		var elements []tftypes.Value
		if err := v.As(&elements); err != nil {
			return nil, err
		}
		list := make([]any, len(elements))
		for i, element := range elements {
			plain, err := plainValue(element)
			if err != nil {
				return nil, err
			}
			list[i] = plain
		}
		return list, nil
	}
	var elements map[string]tftypes.Value
	if err := v.As(&elements); err != nil {
		return nil, err
	}
	object := make(map[string]any, len(elements))
	for name, element := range elements {
		plain, err := plainValue(element)
		if err != nil {
			return nil, err
		}
		if plain != nil {
			object[name] = plain
		}
	}
	return object, nil
}

// processAttribute declares process: what meta, hosts and spec say, in one value. It is
// sensitive for two reasons. A start command may hold a secret that the configuration
// marks as sensitive, and a provider is not told; and a value that nobody wants to read
// prints as one short line, however many hosts there are.
func processAttribute(o Options) schema.StringAttribute {
	if o.Registers {
		return schema.StringAttribute{
			MarkdownDescription: "`meta`, `hosts` and `spec` in one value, for the `process` of an operation or a status. Plans print it as one line. " +
				"It is JSON, and marked as sensitive because a command in `spec` may hold a secret.",
			Computed:  true,
			Sensitive: true,
		}
	}
	instead := "`meta`, `hosts` and `spec`"
	if o.OptionalSpec {
		instead = "`meta` and `hosts` (and `spec`)"
	}
	return schema.StringAttribute{
		MarkdownDescription: "The process and its hosts, as the `process` of a `bk_hosted_process` has them. Exactly one of `process` and " + instead + " is required.",
		Optional:            true,
		Sensitive:           true,
		Validators:          []validator.String{processValidator{optionalSpec: o.OptionalSpec}},
	}
}

// processValidator wants a process or its parts. What is in a process is looked at when it
// is used: a test with a mocked provider validates a process that it made up.
type processValidator struct{ optionalSpec bool }

func (processValidator) Description(context.Context) string {
	return "stands for meta, hosts and spec"
}

func (v processValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v processValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	var set, missing []string
	for _, name := range []string{"meta", "hosts", "spec"} {
		var part attr.Value
		diags := req.Config.GetAttribute(ctx, path.Root(name), &part)
		resp.Diagnostics.Append(diags...)
		switch {
		case diags.HasError():
			return
		case !part.IsNull():
			set = append(set, name)
		case name != "spec" || !v.optionalSpec:
			missing = append(missing, name)
		}
	}
	switch {
	case req.ConfigValue.IsNull() && len(missing) > 0:
		AddInvalid(&resp.Diagnostics, path.Root(missing[0]), "Missing Process",
			"set process = bk_hosted_process.<name>.process, or meta, hosts and spec; not set: "+strings.Join(missing, ", "))
	case !req.ConfigValue.IsNull() && len(set) > 0:
		AddInvalid(&resp.Diagnostics, path.Root(set[0]), "Process Given Twice", "process is set, and holds meta, hosts and spec; leave out "+strings.Join(set, ", "))
	}
}
