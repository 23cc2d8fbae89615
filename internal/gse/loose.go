package gse

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// The types here read JSON that is written loosely: peers of this client have
// met numbers as strings, lists as single objects, and documents inside strings.
// What cannot be read becomes the zero value with known = false; it never fails
// the answer of the other hosts.

// number is a JSON number, or a string that holds one.
type number struct {
	value float64
	known bool
}

func (n *number) UnmarshalJSON(raw []byte) error {
	*n = number{}
	value, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64)
	if err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
		*n = number{value: value, known: true}
	}
	return nil
}

// int is the number without its fraction, within the range in which a float64
// counts one by one.
func (n number) int() int64 { return int64(min(max(n.value, -1<<53), 1<<53)) }

// flag is a JSON boolean, a number (0 is false), or a string that holds either.
type flag struct{ value, known bool }

func (f *flag) UnmarshalJSON(raw []byte) error {
	switch text := strings.ToLower(strings.Trim(string(raw), `" `)); text {
	case "true", "1":
		*f = flag{value: true, known: true}
	case "false", "0":
		*f = flag{known: true}
	default:
		*f = flag{}
	}
	return nil
}

// text is a JSON string, or whatever else stands there as it is spelt.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	switch {
	case json.Unmarshal(raw, &s) == nil:
		*t = text(s)
	case !bytes.Equal(raw, []byte("null")):
		*t = text(raw)
	}
	return nil
}

// texts is a JSON object of texts; anything else is nil.
type texts map[string]string

func (t *texts) UnmarshalJSON(raw []byte) error {
	*t = nil
	var values map[string]text
	if json.Unmarshal(raw, &values) == nil && values != nil {
		*t = make(texts, len(values))
		for k, v := range values {
			(*t)[k] = string(v)
		}
	}
	return nil
}

// many is a JSON array of T, or one T without the array. What is neither is
// empty.
type many[T any] []T

func (m *many[T]) UnmarshalJSON(raw []byte) error {
	*m = nil
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		var items []json.RawMessage
		_ = json.Unmarshal(raw, &items) // what cannot be read has no items
		for _, item := range items {
			var one T
			if json.Unmarshal(item, &one) == nil {
				*m = append(*m, one)
			}
		}
		return nil
	}
	var one T
	if !bytes.Equal(raw, []byte("null")) && json.Unmarshal(raw, &one) == nil {
		*m = many[T]{one}
	}
	return nil
}
