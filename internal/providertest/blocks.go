package providertest

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Blocks returns the schemas of everything that a configuration can contain. The keys are "provider", and
// the names of objects with "resource", "data", "action" or "list" before them.
func (p *Protocol) Blocks() map[string]*tfprotov6.Schema {
	all := map[string]*tfprotov6.Schema{"provider": p.Schema.Provider}
	for name, schema := range p.Schema.ResourceSchemas {
		all["resource "+name] = schema
	}
	for name, schema := range p.Schema.DataSourceSchemas {
		all["data "+name] = schema
	}
	for name, action := range p.Schema.ActionSchemas {
		all["action "+name] = action.Schema
	}
	for name, schema := range p.Schema.ListResourceSchemas {
		all["list "+name] = schema
	}
	return all
}

// EachAttribute visits attributes and those nested in them, with their paths.
func EachAttribute(attributes []*tfprotov6.SchemaAttribute, visit func(path string, a *tfprotov6.SchemaAttribute)) {
	for _, a := range attributes {
		visit(a.Name, a)
		if a.NestedType != nil {
			EachAttribute(a.NestedType.Attributes, func(path string, inner *tfprotov6.SchemaAttribute) { visit(a.Name+"."+path, inner) })
		}
	}
}

// ValidateBlock validates the configuration of a block, named as in Blocks.
func (p *Protocol) ValidateBlock(block string, config map[string]any) Diagnostics {
	p.T.Helper()
	kind, typ, _ := strings.Cut(block, " ")
	switch kind {
	case "action":
		resp, err := p.Server.ValidateActionConfig(p.Context(), &tfprotov6.ValidateActionConfigRequest{
			ActionType: typ, Config: p.Dynamic(p.Schema.ActionSchemas[typ].Schema, config),
		})
		p.Fine(err, nil)
		return resp.Diagnostics
	case "data":
		return p.ValidateData(typ, config)
	default:
		return p.CoreOf(typ, &Kept{}).Validate(config)
	}
}
