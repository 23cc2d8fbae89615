// Package fold passes a large map of strings through terraform-plugin-framework in one piece.
//
// For each request, the framework (v1.19) walks every element of every value several times, and each time
// looks up the element's path in the schema. In a plain map of strings, none of those walks can find
// anything.
//
// So [Server] sits between Terraform and the framework. Terraform sees a map of strings. The framework gets
// one string, whose content is the map's own encoding (MessagePack), and passes it on unchanged. [Map] is
// that string in schemas and models, and decodes elements only when they are read. In a response, the
// string is replaced by its content.
//
// An attribute of any name is folded if its schema has the custom type [Type]. It must be at the top level
// of a resource, a data source or an action. A data source may also compute a map of maps ([MapsType]) or
// of objects ([ObjectsType]). A state is folded by the schema of its version, so a state upgrader reads and
// writes a [Map]. An upgrader without a PriorSchema gets the state as it was stored. So does a state mover,
// and its SourceSchema must have an ordinary map.
//
// The price is what the framework does with elements: there can be no validators, plan modifiers or
// defaults below the map. Those of the whole map work on [Map].
//
// # What it saves
//
// This table compares the same provider with hosts folded and as an ordinary map, measured by make bench.
// Times are multiples of the time of a provider that does nothing (medians of 3 runs, Terraform 1.11.4).
// The early exits are explained below. The two cores were busy with other work, so single figures are off
// by a third, and those of the last column by more.
//
//	                                   folded  ordinary  with early exits
//	 1000 hosts: create                  1.59      2.07      1.44
//	             no-op plan              0.91      1.66      1.36
//	             plan, one host added    1.03      1.52      1.16
//	             its apply               1.18      1.81      1.30
//	             destroy                 1.08      1.63      1.42
//	10,000 hosts: create                 1.93      4.52      2.65
//	             no-op plan              1.04      2.22      1.21
//	             plan, one host added    1.12      2.17      2.36
//	             its apply               1.20      2.66      3.18
//	             destroy                 1.68      1.95      1.30
//
// The number of allocations does not depend on the load. In thousands for each request with 10,000 hosts,
// from make gobench (BenchmarkHostedProcess):
//
//	           folded  ordinary  with early exits
//	validate       45       526       154
//	upgrade        44       534       502
//	read          548      2098      1494
//	no-op plan     65      2867      1520
//	create       2255      6746      4795
//
// # When this package can be removed
//
// It can be removed once the framework avoids these walks:
//
//   - NullifyCollectionBlocks and ReifyNullCollectionBlocks (internal/fwschemadata)
//     compute the expressions of the schema's blocks, and then walk everything even
//     if there are none. An early exit is one line in each.
//   - NullifyWriteOnlyAttributes (internal/fwserver) is called for each element.
//     It could first check whether the schema has a write-only attribute.
//   - SchemaModifyPlan (internal/fwserver) sets each attribute in the plan, changed
//     or not, and each time copies the whole value with all elements.
//   - TransformDefaults and MarkComputedNilsAsUnknown look up the path of each
//     element, only to find an attribute without a nested schema. They could walk the
//     schema in place of the value.
//
// The column of early exits is a framework with the first two changes. They are small, but not enough:
// half of a plan's allocations remain. The third would save a quarter of the time that such a plan still
// takes. When the framework has it, measure again.
//
// # The cost of small resources
//
// With 200 resources of 50 hosts, most of the provider's time is spent in the framework, folded or not.
// These six changes, 27 lines in all, more than halve the time of a plan. The framework's own tests pass with them:
//
//   - Schema.ApplyTerraform5AttributePathStep (resource/schema) copies all attributes for each step of
//     each path. It could look in s.Attributes first.
//   - isValidFieldName (internal/reflect) compiles its expression for each field of each model. A
//     package variable would be compiled once.
//   - NullifyCollectionBlocks and ReifyNullCollectionBlocks, as above.
//   - TransformDefaults converts the value of each attribute in the configuration, only to see whether
//     it is null. It could look at the raw value, except for a dynamic attribute.
//   - SchemaModifyPlan could set an attribute in the plan only if it changed.
//
// For each request with 50 hosts, with go.mod replacing the framework by a copy of v1.19.0, measured by go
// test -bench 'HostedProcess/.*/hosts=50$' -benchmem. A create waits, so its time means little:
//
//	             as it is                    with the changes
//	validate     0.49 ms   5,200 allocations   0.27 ms   3,800
//	read         2.0 ms   13,900               1.6 ms   10,700
//	no-op plan   2.7 ms   27,700               1.1 ms   13,100
//	create                54,500                        36,900
//
// By make bench on an idle machine, as multiples of a provider that does nothing and without the simulator:
// create 1.56 becomes 1.37, a no-op plan 1.52 becomes 1.25, and a destroy 1.56 becomes 1.49. These are means
// of two medians of 3 runs, with Terraform 1.11.4. Most of the rest of a create or a destroy is Terraform
// writing the whole state after each resource.
//
// # How to delete it
//
// Only internal/reference imports this package. Terraform and its states have an ordinary map with or
// without it, so no state has to be upgraded.
//
//  1. In internal/reference/host_map.go, make HostMap a struct around
//     basetypes.MapValue with a type around basetypes.MapType, and give it Len, All,
//     Known and IsFullyKnown as [Map] has them. NewServer becomes
//     providerserver.NewProtocol6(p)(), asserted to have actions and lists.
//  2. In hosts.go there, make hostsAttribute and jobHostsAttribute a MapAttribute with
//     that type, and hostsValidator a validator of maps.
//  3. Make ComputedObjects a MapNestedAttribute, and Objects a basetypes.MapValue of objects.
//  4. Delete this folder, its rules in .golangci.yml and what README.md says about it
//     and msgpack; run go mod tidy.
//  5. Run make check, and make bench before and after.
package fold
