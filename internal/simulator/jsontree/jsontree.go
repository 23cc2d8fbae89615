// Package jsontree reads JSON that was decoded into a tree, with numbers as written. A member of another
// type reads as the zero value.
package jsontree

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Decode decodes one JSON document with its numbers as written.
func Decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON document")
	}
	return tree, nil
}

// Encode encodes one JSON document without escaping HTML.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// Object reads the members of an object.
func Object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// String reads a text.
func String(v any) string {
	s, _ := v.(string)
	return s
}

// Strings reads an object of texts, and of numbers as they are written.
func Strings(v any) map[string]string {
	members := Object(v)
	out := make(map[string]string, len(members))
	for key, member := range members {
		if n, ok := member.(json.Number); ok {
			out[key] = n.String()
			continue
		}
		out[key] = String(member)
	}
	return out
}

// Float reads a number. It returns nil if v is not one.
func Float(v any) *float64 {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil
	}
	return &f
}

// Integer reads a whole number.
func Integer(v any) int64 {
	n, ok := v.(json.Number)
	if !ok {
		return 0
	}
	i, _ := n.Int64()
	return i
}
