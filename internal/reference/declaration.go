package reference

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/fold"
)

// parts holds the attributes that identify a process and its hosts, by name.
type parts map[string]attr.Value

// hostsPart is the only part that every API has.
const hostsPart = "hosts"

// encode encodes all parts as one JSON text, which policies read from plans. Null attributes are left out,
// so an attribute that a later release adds does not change the text. The result is unknown while any part is.
func (p parts) encode(ctx context.Context) types.String {
	plain := make(map[string]any, len(p))
	for name, value := range p {
		if hosts, is := value.(HostMap); is {
			if !hosts.IsFullyKnown() {
				return types.StringUnknown()
			}
			plain[name] = maps.Collect(hosts.Known())
			continue
		}
		raw, err := value.ToTerraformValue(ctx)
		if err != nil || !raw.IsFullyKnown() {
			return types.StringUnknown()
		}
		if raw.IsNull() {
			continue
		}
		if plain[name], err = plainValue(raw); err != nil {
			return types.StringUnknown()
		}
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return types.StringUnknown()
	}
	return types.StringValue(string(text))
}

// declaration describes an attribute that contains all parts in one value.
type declaration struct {
	name string // of the attribute
	from string // the type of the resource that computes it
	// parts groups the names of the parts. One part of each group is required.
	parts [][]string
	// instead names the parts in descriptions.
	instead string
	// several is the attribute that accepts several processes in place of one, "" if there is none.
	several string
}

var (
	gseDeclaration = declaration{
		name: "process", from: "bk_hosted_process",
		parts: [][]string{{"meta"}, {hostsPart}, {specPart}}, instead: "`meta`, `hosts` and `spec`",
	}
	jobDeclaration = declaration{
		name: "declaration", from: "bk_job_hosted_process",
		parts: [][]string{{"scope", "bk_biz_id"}, {"process"}, {hostsPart}}, instead: "`process`, `hosts` and either `scope` or `bk_biz_id`",
	}
)

// specPart is missing from a process between its import and the first apply.
const specPart = "spec"

// decode reads a value that encode wrote. attributes are the schemas of the parts.
func (d declaration) decode(ctx context.Context, text string, attributes map[string]schema.Attribute) (parts, error) {
	var encoded map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &encoded); err != nil {
		// The text is not quoted: a command in it may contain a secret.
		return nil, fmt.Errorf("an id, a name or any other text; set %s = %s.<name>.%s", d.name, d.from, d.name)
	}
	decoded := make(parts)
	for _, alternatives := range d.parts {
		missing := !slices.Contains(alternatives, specPart)
		for _, name := range alternatives {
			value, err := decodePart(ctx, encoded[name], attributes[name].GetType())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			missing = missing && encoded[name] == nil
			decoded[name] = value
			delete(encoded, name)
		}
		if missing {
			return nil, fmt.Errorf("%s is missing", strings.Join(alternatives, " or "))
		}
	}
	for name := range encoded {
		return nil, fmt.Errorf("unknown field %q", name)
	}
	return decoded, nil
}

func decodePart(ctx context.Context, text json.RawMessage, typ attr.Type) (attr.Value, error) {
	if _, is := typ.(fold.Type); is {
		var addresses map[string]string
		if text == nil {
			return NewHostMap(nil), nil
		}
		err := json.Unmarshal(text, &addresses)
		return NewHostMap(addresses), err
	}
	if text == nil {
		text = json.RawMessage("null")
	}
	value, err := tfprotov6.DynamicValue{JSON: text}.Unmarshal(typ.TerraformType(ctx))
	if err != nil {
		return nil, err
	}
	return typ.ValueFromTerraform(ctx, value)
}

// plainValue converts a known value to a form that encoding/json can encode.
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

// replaced is the part of a message which says to set the parts in place of the declaration.
func (d declaration) replaced() string { return d.plainly() + " in the place of " + d.name }

// computed declares the attribute for the resource that computes it. It is sensitive for two reasons. A
// start command may contain a secret that the configuration marks as sensitive, and Terraform does not
// pass that mark to a provider. Also, the value then prints as one short line, however many hosts it has.
func (d declaration) computed() schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: d.instead + " as one JSON text, for the `" + d.name + "` of an operation or a status. A command may contain a secret.",
		Computed:            true,
		Sensitive:           true,
	}
}

// accepted declares the attribute for an object that accepts a declaration in place of its parts. optional
// names the parts that may be missing. The attribute is only as sensitive as the value that it is given. If
// it were declared sensitive, the object would be sensitive even when the attribute is null, and no output
// could contain the object.
func (d declaration) accepted(optional ...string) schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: "The process and its hosts in one sensitive value: the `" + d.name + "` of a `" + d.from + "`. Set it in place of " + d.instead + ".",
		Optional:            true,
		Validators:          []validator.String{declarationValidator{d, optional}},
	}
}

// wholePart is the attribute that accepts a whole resource.
const wholePart = "hosted_process"

// whole declares hosted_process; nested are the parts other than hosts. Unlike a declaration, only what the
// configuration marks as sensitive is sensitive in it: Terraform keeps those marks for each part.
func (d declaration) whole(nested map[string]schema.Attribute) schema.SingleNestedAttribute {
	attributes := maps.Clone(nested)
	attributes[hostsPart] = nestedHosts()
	return schema.SingleNestedAttribute{
		MarkdownDescription: "A whole `" + d.from + "`, in place of `" + d.name + "`: `hosted_process = " + d.from + ".<name>`. Its " + d.instead + " are used. Only what the " +
			"configuration marks as sensitive is sensitive then, so that outputs may use this data source.",
		Optional:   true,
		Attributes: attributes,
		Validators: []validator.Object{wholeValidator{d}},
	}
}

// orWhole is accepted for objects that also accept a whole resource.
func (d declaration) orWhole(optional ...string) schema.StringAttribute {
	process := d.accepted(optional...)
	process.MarkdownDescription += " Or set `hosted_process`, which is not sensitive."
	process.Validators = []validator.String{insteadValidator{declarationValidator{d, optional}, wholePart, d.holds()}}
	return process
}

// holds is the part of a message which says that a value contains all parts.
func (d declaration) holds() string { return "holds " + d.plainly() }

// CheckWhole repeats the validation of hosted_process once all values are known. m holds the attributes
// that may be set in its place.
func CheckWhole(m Model, whole types.Object) diag.Diagnostics {
	values, d := m.given()
	values[wholePart] = whole
	return append(d.inPlaceOf(wholePart, d.holds(), values), d.once(path.Empty(), values)...)
}

// wholeValidator requires the parts of a resource, except the spec, which is missing after an import.
type wholeValidator struct{ declaration }

func (v wholeValidator) Description(context.Context) string { return "must be a " + v.from }

func (v wholeValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v wholeValidator) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	for _, alternatives := range v.parts {
		missing := !slices.Contains(alternatives, specPart)
		for _, name := range alternatives {
			missing = missing && req.ConfigValue.Attributes()[name].IsNull()
		}
		if missing {
			AddInvalid(&resp.Diagnostics, req.Path, "Missing Process",
				fmt.Sprintf("it has no %s; set %s = %s.<name>", strings.Join(alternatives, " or "), wholePart, v.from))
		}
	}
}

// plainly names the parts in messages.
func (d declaration) plainly() string { return strings.ReplaceAll(d.instead, "`", "") }

// orMore ends a message with the attribute for several processes, if the object has one.
func (d declaration) orMore() string {
	if d.several == "" {
		return ""
	}
	return ", or " + d.several + " for several processes"
}

// declarationValidator requires a declaration or its parts. The content of a declaration is checked only
// when it is used, because a test with a mocked provider validates made-up content.
type declarationValidator struct {
	declaration
	optional []string
}

func (v declarationValidator) Description(context.Context) string {
	return "stands for " + v.plainly()
}

func (v declarationValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v declarationValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	values, diags := v.valuesIn(ctx, req)
	if resp.Diagnostics.Append(diags...); !diags.HasError() {
		v.check(&resp.Diagnostics, path.Empty(), values, v.optional)
	}
}

// valuesIn returns the values of the declaration, of its parts and of the attributes named by more.
func (d declaration) valuesIn(ctx context.Context, req validator.StringRequest, more ...string) (parts, diag.Diagnostics) {
	values := parts{d.name: req.ConfigValue}
	var diags diag.Diagnostics
	for _, name := range append(slices.Concat(d.parts...), more...) {
		var part attr.Value
		diags.Append(req.Config.GetAttribute(ctx, path.Root(name), &part)...)
		values[name] = part
	}
	return values, diags
}

// check requires that values, found at a path, have a declaration or its parts. Optional parts may be missing.
func (d declaration) check(diags *diag.Diagnostics, at path.Path, values parts, optional []string) {
	var missing []string
	for _, alternatives := range d.parts {
		given := slices.ContainsFunc(alternatives, func(name string) bool { return !values[name].IsNull() })
		if !given && !slices.Contains(optional, alternatives[0]) {
			missing = append(missing, strings.Join(alternatives, " or "))
		}
	}
	if values[d.name].IsNull() && len(missing) > 0 {
		AddInvalid(diags, at.AtName(d.name), "Missing Process",
			fmt.Sprintf("set %s = %s.<name>.%s, or %s%s; not set: %s", d.name, d.from, d.name, d.plainly(), d.orMore(), strings.Join(missing, ", ")))
	}
	diags.Append(d.once(at, values)...)
}

// once refuses parts that are set beside the declaration that contains them. An unknown value passes: it may
// turn out to be null, such as a module's variable that the caller leaves out.
func (d declaration) once(at path.Path, values parts) diag.Diagnostics {
	return d.besides(d.name, d.holds(), slices.Concat(d.parts...), at, values)
}

// besides refuses the attributes others if name, which takes their place, is set as well. says describes what
// name does, for the message.
func (d declaration) besides(name, says string, others []string, at path.Path, values parts) diag.Diagnostics {
	set := slices.DeleteFunc(slices.Clone(others), func(name string) bool { return !isGiven(values[name]) })
	var diags diag.Diagnostics
	if isGiven(values[name]) && len(set) > 0 {
		AddInvalid(&diags, at.AtName(set[0]), "Process Given Twice", fmt.Sprintf("%s is set, and %s; leave out %s", name, says, strings.Join(set, ", ")))
	}
	return diags
}

// inPlaceOf is besides for an attribute that takes the place of the parts and of the declaration.
func (d declaration) inPlaceOf(name, says string, values parts) diag.Diagnostics {
	return d.besides(name, says, append(slices.Concat(d.parts...), d.name), path.Empty(), values)
}

// isGiven reports whether a value is known to be set.
func isGiven(value attr.Value) bool { return value != nil && !value.IsNull() && !value.IsUnknown() }
