package face

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shape describes one JSON value as the documents do. Checking is done on the
// decoded tree and not by decoding into structs, because encoding/json matches
// names regardless of case, lets null pass for anything and cannot name the
// path of an unknown field.
type shape struct {
	kind   kind
	fields map[string]field // of an object
	elem   *shape           // of a list, or of a map's values
	// check says what else is wrong with a value of the right kind, and at
	// which path below it; both empty if nothing is.
	check func(v any) (path, problem string)
}

type field struct {
	shape
	required bool
}

type kind int

const (
	kindString kind = iota
	kindInteger
	kindNumber
	kindObject
	kindList
	kindMap
)

func (k kind) String() string {
	return [...]string{"a string", "an integer", "a number", "an object", "an array", "an object"}[k]
}

func required(s shape) field { return field{shape: s, required: true} }
func optional(s shape) field { return field{shape: s} }

func object(fields map[string]field) shape { return shape{kind: kindObject, fields: fields} }
func list(elem shape) shape                { return shape{kind: kindList, elem: &elem} }

// problem is the first thing wrong with a request. Its path is empty at the
// root.
type problem struct {
	path, text string
}

func (p *problem) Error() string {
	if p.path == "" {
		return p.text
	}
	return p.path + ": " + p.text
}

// match checks v at path. Of several problems it reports unknown fields first,
// then missing ones, each in alphabetical order, so that messages are stable.
func (s shape) match(path string, v any) *problem {
	switch s.kind {
	case kindString:
		if _, ok := v.(string); !ok {
			return s.mismatch(path, v)
		}
	case kindInteger:
		n, ok := v.(json.Number)
		if !ok {
			return s.mismatch(path, v)
		}
		if _, err := n.Int64(); err != nil {
			return &problem{path, "want an integer, got " + n.String()}
		}
	case kindNumber:
		if _, ok := v.(json.Number); !ok {
			return s.mismatch(path, v)
		}
	case kindList:
		items, ok := v.([]any)
		if !ok {
			return s.mismatch(path, v)
		}
		for i, item := range items {
			if p := s.elem.match(path+"["+strconv.Itoa(i)+"]", item); p != nil {
				return p
			}
		}
	case kindMap:
		members, ok := v.(map[string]any)
		if !ok {
			return s.mismatch(path, v)
		}
		for _, name := range sortedKeys(members) {
			if p := s.elem.match(join(path, name), members[name]); p != nil {
				return p
			}
		}
	case kindObject:
		if p := s.matchObject(path, v); p != nil {
			return p
		}
	}
	if s.check != nil {
		if below, text := s.check(v); text != "" {
			return &problem{join(path, below), text}
		}
	}
	return nil
}

func (s shape) matchObject(path string, v any) *problem {
	members, ok := v.(map[string]any)
	if !ok {
		return s.mismatch(path, v)
	}
	// Hosts come by the thousand, so sorting is left to the failing case.
	for name := range members {
		if _, known := s.fields[name]; !known {
			for _, name := range sortedKeys(members) {
				if _, known := s.fields[name]; !known {
					return &problem{join(path, name), "unknown field"}
				}
			}
		}
	}
	var missing []string
	for name, f := range s.fields {
		if _, present := members[name]; f.required && !present {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return &problem{join(path, slices.Min(missing)), "required field is missing"}
	}
	var first *problem
	for name, member := range members {
		p := s.fields[name].match(join(path, name), member)
		if p != nil && (first == nil || p.path < first.path) {
			first = p
		}
	}
	return first
}

func (s shape) mismatch(path string, v any) *problem {
	return &problem{path, fmt.Sprintf("want %s, got %s", s.kind, jsonKind(v))}
}

func jsonKind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "the number " + v.String()
	case []any:
		return "an array"
	default:
		return "an object"
	}
}

func join(path, name string) string {
	if path == "" || name == "" || strings.HasPrefix(name, "[") {
		return path + name
	}
	return path + "." + name
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// The vocabulary of the documents' tables.
var (
	textShape    = shape{kind: kindString}
	integerShape = shape{kind: kindInteger}
	numberShape  = shape{kind: kindNumber, check: func(v any) (string, string) {
		if strings.HasPrefix(v.(json.Number).String(), "-") { //nolint:forcetypeassert // its kind was checked
			return "", "must not be negative"
		}
		return "", ""
	}}
	countShape = shape{kind: kindInteger, check: numberShape.check}
	nameShape  = shape{kind: kindString, check: func(v any) (string, string) {
		if v == "" {
			return "", "must not be empty"
		}
		return "", ""
	}}
	absolutePathShape = shape{kind: kindString, check: func(v any) (string, string) {
		if !absolutePattern.MatchString(v.(string)) { //nolint:forcetypeassert // its kind was checked
			return "", "must be an absolute path"
		}
		return "", ""
	}}
	// The samples give optional paths as "".
	emptyOrAbsolutePathShape = shape{kind: kindString, check: func(v any) (string, string) {
		if v == "" {
			return "", ""
		}
		return absolutePathShape.check(v)
	}}
)

// absolutePattern allows for Windows, whose agents take "C:\gse" and "C:/gse".
var absolutePattern = regexp.MustCompile(`^(/|[A-Za-z]:[\\/])`)
