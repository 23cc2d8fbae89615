package cmdb

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mostNested is how deep filters may be nested in CMDB.
const mostNested = 3

// filter is a filter by properties: one rule, or several of them.
type filter struct {
	any   bool // one of the rules is enough
	rules []*filter

	field, operator string
	value           any
}

// readFilter reads a filter as CMDB's query builder does. where is the path of an error, "" if there is
// none.
func readFilter(v any, depth int) (f *filter, where string) {
	given, ok := v.(map[string]any)
	if !ok {
		return nil, "condition"
	}
	if condition, combined := given["condition"]; combined {
		f = &filter{any: condition == "OR"}
		if condition != "OR" && condition != "AND" {
			return nil, "condition"
		}
		rules, _ := given["rules"].([]any)
		if len(rules) == 0 || depth > mostNested {
			return nil, "rules"
		}
		for i, rule := range rules {
			read, where := readFilter(rule, depth+1)
			if where != "" {
				return nil, "rules[" + strconv.Itoa(i) + "]." + where
			}
			f.rules = append(f.rules, read)
		}
		return f, ""
	}
	f = &filter{value: given["value"]}
	f.field, _ = given["field"].(string)
	f.operator, _ = given["operator"].(string)
	check, known := operators[f.operator]
	switch {
	case f.field == "":
		return nil, "field"
	case !known:
		return nil, "operator"
	case !check.takes(f.value):
		return nil, "value"
	}
	return f, ""
}

type operator struct {
	takes func(v any) bool
	holds func(have, want any) bool
}

// operators are those of the query builder. The documents also list between and not_between, which the
// code lacks.
var operators = map[string]operator{
	"equal":            {isPlain, equal},
	"not_equal":        {isPlain, not(equal)},
	"in":               {isList, in},
	"not_in":           {isList, not(in)},
	"less":             {isNumber, func(have, want any) bool { return both(have, want) && compare(have, want) < 0 }},
	"less_or_equal":    {isNumber, func(have, want any) bool { return both(have, want) && compare(have, want) <= 0 }},
	"greater":          {isNumber, func(have, want any) bool { return both(have, want) && compare(have, want) > 0 }},
	"greater_or_equal": {isNumber, func(have, want any) bool { return both(have, want) && compare(have, want) >= 0 }},
	"begins_with":      {isText, like("^", "")},
	"not_begins_with":  {isText, not(like("^", ""))},
	"contains":         {isText, like("(?i)", "")},
	"not_contains":     {isText, not(like("(?i)", ""))},
	"ends_with":        {isText, like("", "$")},
	"not_ends_with":    {isText, not(like("", "$"))},
	"is_empty":         {isAny, func(have, _ any) bool { list, ok := have.([]any); return ok && len(list) == 0 }},
	"is_not_empty":     {isAny, func(have, _ any) bool { list, ok := have.([]any); return ok && len(list) > 0 }},
	"is_null":          {isAny, func(have, _ any) bool { return have == nil }},
	"is_not_null":      {isAny, func(have, _ any) bool { return have != nil }},
	"exist":            {isAny, nil},
	"not_exist":        {isAny, nil},
}

func isAny(any) bool { return true }

func isPlain(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64:
		return true
	}
	return false
}

func isNumber(v any) bool { _, ok := number(v); return ok }

func isText(v any) bool { text, ok := v.(string); return ok && text != "" }

// isList requires elements of one type.
func isList(v any) bool {
	list, ok := v.([]any)
	for _, element := range list {
		_, isFirst := list[0].(string)
		_, isThis := element.(string)
		if !isPlain(element) || isFirst != isThis {
			return false
		}
	}
	return ok
}

func both(a, b any) bool { return isNumber(a) && isNumber(b) }

func equal(have, want any) bool {
	if both(have, want) {
		return compare(have, want) == 0
	}
	return have == want
}

func in(have, want any) bool {
	list, _ := want.([]any)
	return slices.ContainsFunc(list, func(one any) bool { return equal(have, one) })
}

func not(holds func(have, want any) bool) func(have, want any) bool {
	return func(have, want any) bool { return !holds(have, want) }
}

// like treats the text as a regular expression, as CMDB does.
func like(before, after string) func(have, want any) bool {
	return func(have, want any) bool {
		text, _ := have.(string)
		pattern, err := regexp.Compile(before + want.(string) + after) //nolint:forcetypeassert // the operator accepts only texts
		return err == nil && have != nil && pattern.MatchString(text)
	}
}

// joined are the fields that contain several values, each of which a rule tests.
var joined = []string{"bk_host_innerip", "bk_host_innerip_v6", "bk_host_outerip", "bk_host_outerip_v6"}

// holds reports whether a row passes; without a filter every row passes.
func (f *filter) holds(r row) bool {
	switch {
	case f == nil:
		return true
	case f.rules == nil:
		return f.holdsRule(r)
	case f.any:
		return slices.ContainsFunc(f.rules, func(rule *filter) bool { return rule.holds(r) })
	default:
		return !slices.ContainsFunc(f.rules, func(rule *filter) bool { return !rule.holds(r) })
	}
}

func (f *filter) holdsRule(r row) bool {
	have, exists := r[f.field]
	switch f.operator {
	case "exist":
		return exists
	case "not_exist":
		return !exists
	}
	holds := operators[f.operator].holds
	text, isText := have.(string)
	if !isText || !slices.Contains(joined, f.field) || strings.HasPrefix(f.operator, "is_") {
		return holds(have, f.value)
	}
	// A negation must be true of all values.
	negated := strings.HasPrefix(f.operator, "not_")
	for part := range strings.SplitSeq(text, ",") {
		if holds(part, f.value) != negated {
			return !negated
		}
	}
	return negated
}
