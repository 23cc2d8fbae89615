package providertest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// invalidPlan returns what Terraform's objchange.AssertPlanValid would reject in a plan ("Provider produced
// invalid plan"). A configured value must be planned unchanged, or keep its prior value. Any other value must
// be null or computed.
func invalidPlan(tb testing.TB, attributes []*tfprotov6.SchemaAttribute, prior, config, planned tftypes.Value, at string) []string {
	tb.Helper()
	was, wanted, will := AttributesOf(tb, prior), AttributesOf(tb, config), AttributesOf(tb, planned)
	var faults []string
	for _, attribute := range attributes {
		at := at + "." + attribute.Name
		p, c, v := was[attribute.Name], wanted[attribute.Name], will[attribute.Name]
		switch nested := attribute.NestedType; {
		case v.Equal(c), v.Equal(p) && !p.IsNull() && !c.IsNull(), attribute.Computed && (!attribute.Optional || c.IsNull()):
		case nested == nil || c.IsNull() || v.IsNull() || !c.IsKnown() || !v.IsKnown():
			faults = append(faults, fmt.Sprintf("%s: %s was planned for %s", at, v, c))
		case nested.Nesting == tfprotov6.SchemaObjectNestingModeSingle:
			faults = append(faults, invalidPlan(tb, nested.Attributes, p, c, v, at)...)
		default:
			before, element := elementsOf(tb, p), elementsOf(tb, v)
			configured := elementsOf(tb, c)
			if !slices.Equal(slices.Sorted(maps.Keys(element)), slices.Sorted(maps.Keys(configured))) {
				faults = append(faults, fmt.Sprintf("%s: %s was planned for %s", at, v, c))
				continue
			}
			for key := range element {
				faults = append(faults, invalidPlan(tb, nested.Attributes, before[key], configured[key], element[key], at+"["+key+"]")...)
			}
		}
	}
	return faults
}

// incompatible returns what Terraform's objchange.AssertObjectCompatible would reject in a value that replaces
// a planned one: known values must stay the same.
func incompatible(tb testing.TB, planned, actual tftypes.Value, at string) []string {
	tb.Helper()
	switch {
	case !planned.IsKnown():
		return nil
	case !actual.IsKnown():
		return []string{at + ": was known, but now unknown"}
	case planned.IsNull() != actual.IsNull(), isPrimitive(planned) && !planned.Equal(actual):
		return []string{fmt.Sprintf("%s: was %s, but now %s", at, planned, actual)}
	case planned.IsNull() || isPrimitive(planned):
		return nil
	}
	var faults []string
	were, are := elementsOf(tb, planned), elementsOf(tb, actual)
	for key := range are {
		if _, was := were[key]; !was {
			faults = append(faults, fmt.Sprintf("%s: new element %s has appeared", at, key))
		}
	}
	for key, was := range were {
		is, still := are[key]
		if !still {
			faults = append(faults, fmt.Sprintf("%s: element %s has vanished", at, key))
			continue
		}
		faults = append(faults, incompatible(tb, was, is, at+"."+key)...)
	}
	return faults
}

func isPrimitive(v tftypes.Value) bool {
	return v.Type().Is(tftypes.String) || v.Type().Is(tftypes.Number) || v.Type().Is(tftypes.Bool)
}

// elementsOf returns the elements of a list by number, those of a map or object by name, and none for null.
func elementsOf(tb testing.TB, v tftypes.Value) map[string]tftypes.Value {
	tb.Helper()
	if v.Type() == nil || v.IsNull() {
		return nil
	}
	if !v.Type().Is(tftypes.List{}) {
		return AttributesOf(tb, v)
	}
	var list []tftypes.Value
	if err := v.As(&list); err != nil {
		tb.Fatal(err)
	}
	elements := make(map[string]tftypes.Value, len(list))
	for i, element := range list {
		elements[fmt.Sprint(i)] = element
	}
	return elements
}

// Inconsistent returns what Terraform would reject in the second plan, which it makes during an apply when all
// values are known ("Provider produced inconsistent final plan").
func Inconsistent(tb testing.TB, planned, again Plan) []string {
	tb.Helper()
	faults := incompatible(tb, planned.value, again.value, "")
	narrowed := planned.Action == PlanUpdate && again.Action == PlanNothing || planned.Action == PlanReplace && again.Action == PlanCreate
	if planned.Action != again.Action && !narrowed {
		faults = append(faults, fmt.Sprintf("the planned action changed from %s to %s", planned.Action, again.Action))
	}
	return faults
}
