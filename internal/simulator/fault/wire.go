package fault

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// Wire holds the effects of faults on the bytes of an answer.
type Wire struct {
	Half      bool          // close the connection in the middle
	Drip      time.Duration // delay before each byte
	Length    int64         // repeat the body up to this size
	Replace   map[string]any
	Backwards bool
}

// Bend applies Replace and Backwards to an encoded answer.
func (w Wire) Bend(encoded []byte) []byte {
	if w.Replace == nil && !w.Backwards {
		return encoded
	}
	tree, err := jsontree.Decode(encoded)
	if err != nil {
		return encoded
	}
	for path, value := range w.Replace {
		tree = replaceAt(tree, strings.Split(path, "/"), value)
	}
	if w.Backwards {
		tree = backwards(tree)
	}
	bent, err := jsontree.Encode(tree)
	if err != nil {
		return encoded
	}
	return bent
}

// replaceAt replaces the value at a path, if it exists.
func replaceAt(tree any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	switch tree := tree.(type) {
	case map[string]any:
		for name, member := range tree {
			if path[0] == "*" || path[0] == name {
				tree[name] = replaceAt(member, path[1:], value)
			}
		}
	case []any:
		for i, element := range tree {
			if path[0] == "*" {
				tree[i] = replaceAt(element, path[1:], value)
			}
		}
	}
	return tree
}

// backwards reverses every list, and the members of every object, for clients that rely on an order.
func backwards(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		turned := make(backwardsObject, len(tree))
		for name, member := range tree {
			turned[name] = backwards(member)
		}
		return turned
	case []any:
		turned := slices.Clone(tree)
		slices.Reverse(turned)
		for i, element := range turned {
			turned[i] = backwards(element)
		}
		return turned
	}
	return tree
}

type backwardsObject map[string]any

func (o backwardsObject) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	names := slices.Sorted(maps.Keys(o))
	slices.Reverse(names)
	for i, name := range names {
		if i > 0 {
			out.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		member, err := json.Marshal(o[name])
		if err != nil {
			return nil, err
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(member)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
