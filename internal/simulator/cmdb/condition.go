package cmdb

import (
	"errors"
	"fmt"
	"regexp"
)

// holds reports whether a row meets a condition in the older form, which dynamic groups, set_cond and
// module_cond have.
func (cond Condition) holds(r row) (bool, error) {
	value := plain(cond.Value)
	have := any(nil)
	if r != nil {
		have = r[cond.Field]
	}
	switch cond.Operator {
	case "$eq", "$ne":
		if value != nil && !isPlain(value) {
			return false, fmt.Errorf("%s: value is neither a text nor a number", cond.Operator)
		}
		return equal(have, value) == (cond.Operator == "$eq"), nil
	case "$in", "$nin":
		if !isList(value) {
			return false, fmt.Errorf("%s: value is not a list", cond.Operator)
		}
		return in(have, value) == (cond.Operator == "$in"), nil
	case "$regex":
		text, _ := value.(string)
		pattern, err := regexp.Compile(text)
		if err != nil {
			return false, err
		}
		has, ok := have.(string)
		return ok && pattern.MatchString(has), nil
	}
	return false, errors.New("operator: " + cond.Operator + " is none of $eq, $ne, $in, $nin and $regex")
}

// passes reports whether a row meets the conditions on its object, which were checked when they were
// declared or read.
func passes(conditions []Condition, object string, r row) bool {
	for _, cond := range conditions {
		if cond.Object != object {
			continue
		}
		if ok, err := cond.holds(r); !ok || err != nil {
			return false
		}
	}
	return true
}

// conditions reads set_cond or module_cond.
func (q *question) conditions(name, object string) ([]Condition, *refusal) {
	list, _ := q.params[name].([]any)
	var conditions []Condition
	for _, v := range list {
		given, _ := v.(map[string]any)
		cond := Condition{Object: object, Value: given["value"]}
		cond.Field, _ = given["field"].(string)
		cond.Operator, _ = given["operator"].(string)
		if cond.Operator != "$eq" && cond.Operator != "$ne" || cond.Field == "" {
			return nil, invalid(name)
		}
		conditions = append(conditions, cond)
	}
	if q.bent.Page == "unfiltered" {
		return nil, nil
	}
	return conditions, nil
}

// shown returns a group's conditions in the form of search_dynamic_group.
func (g Group) shown() []any {
	shown := []any{}
	for _, object := range []string{"set", "module", "host"} {
		var rules []any
		for _, cond := range g.Conditions {
			if cond.Object == object {
				rules = append(rules, row{"field": cond.Field, "operator": cond.Operator, "value": plain(cond.Value)})
			}
		}
		if rules != nil {
			shown = append(shown, row{"bk_obj_id": object, "condition": rules})
		}
	}
	return shown
}
