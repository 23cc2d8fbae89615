package reference

import (
	"iter"

	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/fold"
)

// HostMap is the hosts attribute: host addresses by host key. Only this package knows how the framework
// passes it on.
type HostMap = fold.Map

// NewHostMap is the attribute with these addresses. A nil map is an empty one.
func NewHostMap(addresses map[string]string) HostMap { return fold.NewMap(addresses) }

// HostMaps are maps of hosts by name, as a data source computes them.
type HostMaps = fold.Maps

// NewHostMaps is the attribute with these maps.
func NewHostMaps(byName map[string]map[string]string) HostMaps { return fold.NewMaps(byName) }

// ComputedHosts is a HostMap that a data source computes.
func ComputedHosts(description string) datasource.Attribute {
	return datasource.StringAttribute{MarkdownDescription: description, Computed: true, CustomType: fold.Type{}}
}

// ComputedHostMaps are HostMaps that a data source computes.
func ComputedHostMaps(description string) datasource.Attribute {
	return datasource.StringAttribute{MarkdownDescription: description, Computed: true, CustomType: fold.MapsType{}}
}

// ObjectAttribute is an attribute of an object that a data source computes.
type ObjectAttribute = fold.Attribute

// Objects are objects by key, as a data source computes them.
type Objects = fold.Objects

// NewObjects is the attribute with n objects. Each has the values of its attributes in order.
func NewObjects(attributes []ObjectAttribute, n int, objects iter.Seq2[string, []any]) (Objects, error) {
	return fold.NewObjects(attributes, n, objects)
}

// ComputedObjects are Objects that a data source computes.
func ComputedObjects(description string, attributes []ObjectAttribute) datasource.Attribute {
	return datasource.StringAttribute{MarkdownDescription: description, Computed: true, CustomType: fold.ObjectsType{Attributes: attributes}}
}

// NewNestedObjects is the attribute with objects that contain others.
func NewNestedObjects(objects map[string]any) (Objects, error) { return fold.NewNested(objects) }

// ComputedNestedObjects are Objects of a type that a data source computes.
func ComputedNestedObjects(description string, whole tftypes.Type) datasource.Attribute {
	return datasource.StringAttribute{MarkdownDescription: description, Computed: true, CustomType: fold.ObjectsType{Nested: whole}}
}

// UnknownHostMap is an unknown value of the attribute.
func UnknownHostMap() HostMap { return HostMap{StringValue: types.StringUnknown()} }

// Server is the protocol's server, as the framework has it.
type Server = fold.Framework

// NewServer serves a provider whose schemas have a [HostMap].
func NewServer(p provider.Provider) Server { return fold.NewServer(p) }
