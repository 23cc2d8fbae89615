package main

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// object is a JSON object in the format that github.com/hashicorp/terraform-json reads, which gives omitted
// members the zero value.
type object = map[string]any

func describe(served *tfprotov6.GetProviderSchemaResponse, identities *tfprotov6.GetResourceIdentitySchemasResponse) object {
	return object{
		"provider":              schemaOf(served.Provider),
		"resource_schemas":      each(served.ResourceSchemas, schemaOf),
		"data_source_schemas":   each(served.DataSourceSchemas, schemaOf),
		"list_resource_schemas": each(served.ListResourceSchemas, schemaOf),
		"action_schemas": each(served.ActionSchemas, func(a *tfprotov6.ActionSchema) object {
			return schemaOf(a.Schema)
		}),
		"functions":                 each(served.Functions, functionOf),
		"resource_identity_schemas": each(identities.IdentitySchemas, identityOf),
	}
}

func each[T any](all map[string]T, form func(T) object) object {
	forms := make(object, len(all))
	for name, one := range all {
		forms[name] = form(one)
	}
	return forms
}

func schemaOf(s *tfprotov6.Schema) object {
	return object{"version": s.Version, "block": blockOf(s.Block)}
}

// blockOf omits nested blocks, which this provider does not have.
func blockOf(b *tfprotov6.SchemaBlock) object {
	return object{
		"attributes":       attributesOf(b.Attributes),
		"description":      b.Description,
		"description_kind": kindOf(b.DescriptionKind),
		"deprecated":       b.Deprecated,
	}
}

func attributesOf(attributes []*tfprotov6.SchemaAttribute) object {
	forms := make(object, len(attributes))
	for _, a := range attributes {
		form := object{
			"description":      a.Description,
			"description_kind": kindOf(a.DescriptionKind),
			"required":         a.Required,
			"optional":         a.Optional,
			"computed":         a.Computed,
			"sensitive":        a.Sensitive,
			"write_only":       a.WriteOnly,
			"deprecated":       a.Deprecated,
		}
		if a.NestedType != nil {
			form["nested_type"] = object{
				"attributes":   attributesOf(a.NestedType.Attributes),
				"nesting_mode": nestings[a.NestedType.Nesting],
			}
		} else {
			form["type"] = typeOf(a.Type)
		}
		forms[a.Name] = form
	}
	return forms
}

var nestings = map[tfprotov6.SchemaObjectNestingMode]string{
	tfprotov6.SchemaObjectNestingModeSingle: "single",
	tfprotov6.SchemaObjectNestingModeList:   "list",
	tfprotov6.SchemaObjectNestingModeSet:    "set",
	tfprotov6.SchemaObjectNestingModeMap:    "map",
}

func functionOf(f *tfprotov6.Function) object {
	parameters := make([]object, len(f.Parameters))
	for i, p := range f.Parameters {
		parameters[i] = parameterOf(p)
	}
	form := object{
		"summary":             f.Summary,
		"description":         f.Description,
		"deprecation_message": f.DeprecationMessage,
		"return_type":         typeOf(f.Return.Type),
		"parameters":          parameters,
	}
	if f.VariadicParameter != nil {
		form["variadic_parameter"] = parameterOf(f.VariadicParameter)
	}
	return form
}

func parameterOf(p *tfprotov6.FunctionParameter) object {
	return object{"name": p.Name, "description": p.Description, "is_nullable": p.AllowNullValue, "type": typeOf(p.Type)}
}

func identityOf(s *tfprotov6.ResourceIdentitySchema) object {
	attributes := make(object, len(s.IdentityAttributes))
	for _, a := range s.IdentityAttributes {
		attributes[a.Name] = object{
			"type":                typeOf(a.Type),
			"description":         a.Description,
			"required_for_import": a.RequiredForImport,
			"optional_for_import": a.OptionalForImport,
		}
	}
	return object{"version": s.Version, "attributes": attributes}
}

func kindOf(kind tfprotov6.StringKind) string {
	if kind == tfprotov6.StringKindMarkdown {
		return "markdown"
	}
	return "plain"
}

// typeOf returns a type in cty's JSON form, which the protocol uses too.
func typeOf(typ tftypes.Type) any {
	switch typ := typ.(type) {
	case tftypes.List:
		return []any{"list", typeOf(typ.ElementType)}
	case tftypes.Set:
		return []any{"set", typeOf(typ.ElementType)}
	case tftypes.Map:
		return []any{"map", typeOf(typ.ElementType)}
	case tftypes.Object:
		attributes := make(object, len(typ.AttributeTypes))
		for name, attribute := range typ.AttributeTypes {
			attributes[name] = typeOf(attribute)
		}
		return []any{"object", attributes}
	}
	switch {
	case typ.Is(tftypes.String):
		return "string"
	case typ.Is(tftypes.Number):
		return "number"
	case typ.Is(tftypes.Bool):
		return "bool"
	}
	return "dynamic"
}
