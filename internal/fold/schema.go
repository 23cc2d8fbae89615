package fold

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// attributes are those that are folded, by name, and what Terraform sees of them.
type attributes map[string]tftypes.Type

// folded are the attributes of what a provider has, by the name of that.
type folded struct {
	resources   map[string]foldedResource
	dataSources map[string]attributes
	actions     map[string]attributes
	err         error // the first schema that cannot be served
}

// foldedResource are those of a resource now, and in states by the version of their
// schema.
type foldedResource struct {
	current attributes
	states  map[int64]attributes
}

// find looks through the schemas of a provider.
func find(ctx context.Context, p provider.Provider) folded {
	f := folded{resources: make(map[string]foldedResource), dataSources: make(map[string]attributes), actions: make(map[string]attributes)}
	var metadata provider.MetadataResponse
	p.Metadata(ctx, provider.MetadataRequest{}, &metadata)
	for _, newResource := range p.Resources(ctx) {
		f.addResource(ctx, metadata.TypeName, newResource())
	}
	for _, newDataSource := range p.DataSources(ctx) {
		var (
			d      = newDataSource()
			named  datasource.MetadataResponse
			schema datasource.SchemaResponse
		)
		d.Metadata(ctx, datasource.MetadataRequest{ProviderTypeName: metadata.TypeName}, &named)
		d.Schema(ctx, datasource.SchemaRequest{}, &schema)
		f.dataSources[named.TypeName] = f.attributesIn(named.TypeName, schema.Schema.Type())
	}
	if withActions, ok := p.(provider.ProviderWithActions); ok {
		for _, newAction := range withActions.Actions(ctx) {
			var (
				a      = newAction()
				named  action.MetadataResponse
				schema action.SchemaResponse
			)
			a.Metadata(ctx, action.MetadataRequest{ProviderTypeName: metadata.TypeName}, &named)
			a.Schema(ctx, action.SchemaRequest{}, &schema)
			f.actions[named.TypeName] = f.attributesIn(named.TypeName, schema.Schema.Type())
		}
	}
	return f
}

func (f *folded) addResource(ctx context.Context, providerName string, r resource.Resource) {
	var (
		named  resource.MetadataResponse
		schema resource.SchemaResponse
	)
	r.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: providerName}, &named)
	r.Schema(ctx, resource.SchemaRequest{}, &schema)
	names := foldedResource{current: f.attributesIn(named.TypeName, schema.Schema.Type()), states: make(map[int64]attributes)}
	if upgraded, ok := r.(resource.ResourceWithUpgradeState); ok {
		for version, upgrader := range upgraded.UpgradeState(ctx) {
			// Without a schema an upgrader reads the state itself, as it was stored.
			if upgrader.PriorSchema != nil {
				names.states[version] = f.attributesIn(named.TypeName, upgrader.PriorSchema.Type())
			}
		}
	}
	// The framework asks no upgrader for a state of today.
	names.states[schema.Schema.Version] = names.current
	f.resources[named.TypeName] = names
}

func (f *folded) attributesIn(of string, schema attr.Type) attributes {
	found := make(attributes)
	object, _ := schema.(attr.TypeWithAttributeTypes)
	for name, typ := range object.AttributeTypes() {
		if one, is := typ.(pieceType); is {
			found[name] = one.unfolded()
		} else if holds(typ) && f.err == nil {
			f.err = fmt.Errorf("the schema of %s has a folded map inside %q; only whole attributes are folded", of, name)
		}
	}
	return found
}

// pieceType is a type of this package, whose values travel in one piece.
type pieceType interface {
	attr.Type
	// unfolded is what Terraform sees.
	unfolded() tftypes.Type
}

// holds tells whether a folded map is somewhere in a type.
func holds(typ attr.Type) bool {
	switch t := typ.(type) {
	case pieceType:
		return true
	case attr.TypeWithElementType:
		return holds(t.ElementType())
	case attr.TypeWithAttributeTypes:
		for _, attribute := range t.AttributeTypes() {
			if holds(attribute) {
				return true
			}
		}
	}
	return false
}

// GetProviderSchema tells Terraform of maps.
func (s *Server) GetProviderSchema(ctx context.Context, req *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	found := s.folded(ctx)
	if found.err != nil {
		return nil, found.err
	}
	resp, err := s.Framework.GetProviderSchema(ctx, req)
	if err != nil {
		return nil, err
	}
	for name, schema := range resp.ResourceSchemas {
		unfoldSchema(schema, found.resources[name].current)
	}
	for name, schema := range resp.DataSourceSchemas {
		unfoldSchema(schema, found.dataSources[name])
	}
	for name, action := range resp.ActionSchemas {
		unfoldSchema(action.Schema, found.actions[name])
	}
	return resp, nil
}

func unfoldSchema(schema *tfprotov6.Schema, folded attributes) {
	for _, attribute := range schema.Block.Attributes {
		if typ, is := folded[attribute.Name]; is {
			attribute.Type = typ
		}
	}
}
