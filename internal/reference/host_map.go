package reference

import (
	"iter"

	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/fold"
)

// HostMap is the value of the hosts attribute: host addresses by host key. Only this package knows that
// it is folded.
type HostMap = fold.Map

// NewHostMap returns a HostMap of addresses. A nil map is an empty one.
func NewHostMap(addresses map[string]string) HostMap { return fold.NewMap(addresses) }

// HostMaps holds maps of hosts by name, as a data source computes them.
type HostMaps = fold.Maps

// NewHostMaps returns HostMaps of these maps.
func NewHostMaps(byName map[string]map[string]string) HostMaps { return fold.NewMaps(byName) }

// ComputedHosts declares a HostMap that a data source computes.
func ComputedHosts(description string) datasource.Attribute {
	return datasource.StringAttribute{MarkdownDescription: description, Computed: true, CustomType: fold.Type{}}
}

// ComputedHostMaps declares HostMaps that a data source computes.
func ComputedHostMaps(description string) datasource.Attribute {
	return datasource.StringAttribute{MarkdownDescription: description, Computed: true, CustomType: fold.MapsType{}}
}

// ObjectAttribute is an attribute of an object that a data source computes.
type ObjectAttribute = fold.Attribute

// Objects holds objects by key, as a data source computes them.
type Objects = fold.Objects

// NewObjects returns n objects. Each has its values in the order of attributes.
func NewObjects(attributes []ObjectAttribute, n int, objects iter.Seq2[string, []any]) (Objects, error) {
	return fold.NewObjects(attributes, n, objects)
}

// ComputedObjects declares Objects that a data source computes.
func ComputedObjects(description string, attributes []ObjectAttribute) datasource.Attribute {
	return datasource.StringAttribute{MarkdownDescription: description, Computed: true, CustomType: fold.ObjectsType{Attributes: attributes}}
}

// NewNestedObjects returns objects that contain others.
func NewNestedObjects(objects map[string]any) (Objects, error) { return fold.NewNested(objects) }

// ComputedNestedObjects declares Objects of the type whole that a data source computes.
func ComputedNestedObjects(description string, whole tftypes.Type) datasource.Attribute {
	return datasource.StringAttribute{MarkdownDescription: description, Computed: true, CustomType: fold.ObjectsType{Nested: whole}}
}

// UnknownHostMap returns an unknown HostMap.
func UnknownHostMap() HostMap { return HostMap{StringValue: types.StringUnknown()} }

// Server is the framework's server of the protocol.
type Server = fold.Framework

// NewServer returns a server for a provider whose schemas have a [HostMap].
func NewServer(p provider.Provider) Server { return fold.NewServer(p) }
