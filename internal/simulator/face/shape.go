package face

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shape describes one JSON value as the documents do. It checks the decoded tree. Decoding into structs
// would match names regardless of case and accept null for anything. It could not give the path of an
// unknown field either.
//
// A problem is what the platform refuses. A finding is what it accepts although no document describes it,
// and so a likely mistake of the client: an unknown field, or null for an unset one.
type shape struct {
	kind   kind
	fields map[string]field // of an object
	// choose, if non-nil, returns the fields of this object, which depend on its content.
	choose func(members map[string]any) map[string]field
	elem   *shape // of a list, or of a map's values
	// check returns a further problem of a value of the right kind and its path below the value, or two
	// empty texts. lint does the same for a finding.
	check, lint func(v any) (path, problem string)
}

type field struct {
	shape
	presence presence
}

// presence is whether a field may be omitted.
type presence int

const (
	mayMiss   presence = iota
	mayBeNull          // it must be there, and null is a finding
	shouldBe           // leaving it out is a finding
	mustBe
)

type kind int

const (
	kindString kind = iota
	kindText        // a string, or a number, which is a finding
	kindInteger
	kindNumber
	kindBool
	kindObject
	kindList
	kindMap
)

func (k kind) String() string {
	return [...]string{"a string", "a string", "an integer", "a number", "a boolean", "an object", "an array", "an object"}[k]
}

func required(s shape) field { return field{shape: s, presence: mustBe} }
func nullable(s shape) field { return field{shape: s, presence: mayBeNull} }
func wanted(s shape) field   { return field{shape: s, presence: shouldBe} }
func optional(s shape) field { return field{shape: s} }

func object(fields map[string]field) shape { return shape{kind: kindObject, fields: fields} }
func list(elem shape) shape                { return shape{kind: kindList, elem: &elem} }

// problem is the first error in a request. Its path is empty at the root.
type problem struct {
	path, text string
}

func (p *problem) Error() string {
	if p.path == "" {
		return p.text
	}
	return p.path + ": " + p.text
}

// findings are what platforms accept in a request although no document describes it.
type findings []problem

// mostFindings bounds the findings of one request, which may name thousands of hosts.
const mostFindings = 20

func (f *findings) add(path, text string) {
	if len(*f) < mostFindings {
		*f = append(*f, problem{path, text})
	}
}

// texts returns the findings sorted by path.
func (f *findings) texts() []string {
	texts := make([]string, len(*f))
	for i, p := range *f {
		texts[i] = p.Error()
	}
	slices.Sort(texts)
	return texts
}

// match checks v at path, and adds findings to found. Of several problems it reports missing fields
// first, in alphabetical order, so that messages are stable.
func (s shape) match(path string, v any, found *findings) *problem {
	switch s.kind {
	case kindString:
		if _, ok := v.(string); !ok {
			return s.mismatch(path, v)
		}
	case kindText:
		switch v.(type) {
		case string:
		case json.Number:
			found.add(path, s.mismatch(path, v).text)
		default:
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
	case kindBool:
		if _, ok := v.(bool); !ok {
			return s.mismatch(path, v)
		}
	case kindList:
		items, ok := v.([]any)
		if !ok {
			return s.mismatch(path, v)
		}
		for i, item := range items {
			if p := s.elem.match(path+"["+strconv.Itoa(i)+"]", item, found); p != nil {
				return p
			}
		}
	case kindMap:
		members, ok := v.(map[string]any)
		if !ok {
			return s.mismatch(path, v)
		}
		for _, name := range sortedKeys(members) {
			if p := s.elem.match(join(path, name), members[name], found); p != nil {
				return p
			}
		}
	case kindObject:
		if p := s.matchObject(path, v, found); p != nil {
			return p
		}
	}
	if s.check != nil {
		if below, text := s.check(v); text != "" {
			return &problem{join(path, below), text}
		}
	}
	if s.lint != nil {
		if below, text := s.lint(v); text != "" {
			found.add(join(path, below), text)
		}
	}
	return nil
}

func (s shape) matchObject(path string, v any, found *findings) *problem {
	members, ok := v.(map[string]any)
	if !ok {
		return s.mismatch(path, v)
	}
	fields := s.fields
	if s.choose != nil {
		fields = s.choose(members)
	}
	var missing []string
	for name, f := range fields {
		if _, present := members[name]; !present {
			switch f.presence {
			case mustBe, mayBeNull:
				missing = append(missing, name)
			case shouldBe:
				found.add(join(path, name), missingField)
			case mayMiss:
			}
		}
	}
	if len(missing) > 0 {
		return &problem{join(path, slices.Min(missing)), missingField}
	}
	var first *problem
	for name, member := range members {
		f, known := fields[name]
		switch {
		case !known:
			found.add(join(path, name), "unknown field")
			continue
		case member == nil && f.presence != mustBe:
			found.add(join(path, name), "is null")
			continue
		}
		p := f.match(join(path, name), member, found)
		if p != nil && (first == nil || p.path < first.path) {
			first = p
		}
	}
	return first
}

const missingField = "required field is missing"

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

// The terms of the documents' tables.
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
	// neededPathShape accepts "", as the platform does.
	neededPathShape = shape{kind: kindString, check: emptyOrAbsolutePathShape.check, lint: absolutePathShape.check}
	// The samples give optional paths as "".
	emptyOrAbsolutePathShape = shape{kind: kindString, check: func(v any) (string, string) {
		if v == "" {
			return "", ""
		}
		return absolutePathShape.check(v)
	}}
)

// absolutePattern allows paths of Windows, whose agents accept "C:\gse" and "C:/gse".
var absolutePattern = regexp.MustCompile(`^(/|[A-Za-z]:[\\/])`)
