package fold

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// attributes holds the folded attributes of a schema, by name.
type attributes map[string]pieceType

// folded holds the folded attributes of a provider. Each schema is searched on first use, because most runs
// need only one or two.
type folded struct {
	resources   schemas[foldedResource]
	dataSources schemas[attributes]
	actions     schemas[attributes]
}

// schemas holds the functions that search the schemas, by the name of the schema's type.
type schemas[T any] map[string]func() (T, error)

// of returns what was found in a schema, or an error if the schema cannot be served.
func (s schemas[T]) of(name string) (found T, err error) {
	if find, has := s[name]; has {
		return find()
	}
	return found, nil
}

// foldedResource holds the folded attributes in a resource's current schema, and in its states by their
// schema's version.
type foldedResource struct {
	current attributes
	states  map[int64]attributes

	// version and types, by attribute, are those of the current schema. types is nil if it has blocks,
	// because the framework may change blocks in a state.
	version int64
	types   map[string]tftypes.Type
}

// find prepares the search of a provider's schemas.
func find(ctx context.Context, p provider.Provider) folded {
	f := folded{resources: make(schemas[foldedResource]), dataSources: make(schemas[attributes]), actions: make(schemas[attributes])}
	var metadata provider.MetadataResponse
	p.Metadata(ctx, provider.MetadataRequest{}, &metadata)
	for _, newResource := range p.Resources(ctx) {
		var named resource.MetadataResponse
		r := newResource()
		r.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: metadata.TypeName}, &named)
		f.resources[named.TypeName] = sync.OnceValues(func() (foldedResource, error) { return resourceOf(ctx, named.TypeName, r) })
	}
	for _, newDataSource := range p.DataSources(ctx) {
		var named datasource.MetadataResponse
		d := newDataSource()
		d.Metadata(ctx, datasource.MetadataRequest{ProviderTypeName: metadata.TypeName}, &named)
		f.dataSources[named.TypeName] = sync.OnceValues(func() (attributes, error) {
			var schema datasource.SchemaResponse
			d.Schema(ctx, datasource.SchemaRequest{}, &schema)
			return attributesIn(named.TypeName, schema.Schema.Type())
		})
	}
	if withActions, ok := p.(provider.ProviderWithActions); ok {
		for _, newAction := range withActions.Actions(ctx) {
			var named action.MetadataResponse
			a := newAction()
			a.Metadata(ctx, action.MetadataRequest{ProviderTypeName: metadata.TypeName}, &named)
			f.actions[named.TypeName] = sync.OnceValues(func() (attributes, error) {
				var schema action.SchemaResponse
				a.Schema(ctx, action.SchemaRequest{}, &schema)
				return attributesIn(named.TypeName, schema.Schema.Type())
			})
		}
	}
	return f
}

func resourceOf(ctx context.Context, name string, r resource.Resource) (foldedResource, error) {
	var schema resource.SchemaResponse
	r.Schema(ctx, resource.SchemaRequest{}, &schema)
	current, err := attributesIn(name, schema.Schema.Type())
	found := foldedResource{current: current, states: make(map[int64]attributes), version: schema.Schema.Version}
	if object, is := schema.Schema.Type().TerraformType(ctx).(tftypes.Object); is && len(schema.Schema.Blocks) == 0 {
		found.types = object.AttributeTypes
	}
	if upgraded, ok := r.(resource.ResourceWithUpgradeState); ok {
		for version, upgrader := range upgraded.UpgradeState(ctx) {
			// An upgrader without a schema reads the stored state itself.
			if upgrader.PriorSchema != nil {
				prior, wrong := attributesIn(name, upgrader.PriorSchema.Type())
				found.states[version], err = prior, cmp.Or(err, wrong)
			}
		}
	}
	// The framework calls no upgrader for a state of the current version.
	found.states[schema.Schema.Version] = current
	return found, err
}

func attributesIn(of string, schema attr.Type) (attributes, error) {
	found := make(attributes)
	object, _ := schema.(attr.TypeWithAttributeTypes)
	for name, typ := range object.AttributeTypes() {
		if one, is := typ.(pieceType); is {
			found[name] = one
		} else if holds(typ) {
			return nil, fmt.Errorf("the schema of %s has a folded map inside %q; only whole attributes are folded", of, name)
		}
	}
	return found, nil
}

// pieceType is a type of this package. Its values pass through the framework in one piece.
type pieceType interface {
	attr.Type
	// show sets the type that Terraform sees in the attribute's schema.
	show(*tfprotov6.SchemaAttribute)
}

// holds reports whether a type contains a folded map.
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

// GetProviderSchema shows folded attributes to Terraform as maps.
func (s *Server) GetProviderSchema(ctx context.Context, req *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	found := s.folded(ctx)
	resp, err := s.Framework.GetProviderSchema(ctx, req)
	if err != nil {
		return nil, err
	}
	for name, schema := range resp.ResourceSchemas {
		has, wrong := found.resources.of(name)
		unfoldSchema(schema, has.current)
		err = cmp.Or(err, wrong)
	}
	for name, schema := range resp.DataSourceSchemas {
		has, wrong := found.dataSources.of(name)
		unfoldSchema(schema, has)
		err = cmp.Or(err, wrong)
	}
	for name, action := range resp.ActionSchemas {
		has, wrong := found.actions.of(name)
		unfoldSchema(action.Schema, has)
		err = cmp.Or(err, wrong)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func unfoldSchema(schema *tfprotov6.Schema, folded attributes) {
	for _, attribute := range schema.Block.Attributes {
		if piece, is := folded[attribute.Name]; is {
			piece.show(attribute)
		}
	}
}
