package procapi

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	json "github.com/go-json-experiment/json/v1"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// The types in this file read JSON leniently. Other clients have seen numbers as strings, lists as single
// objects, and documents inside strings. A value that cannot be read becomes zero with Known = false. It
// never fails the answer of the other hosts.

// Number is a JSON number, or a string that holds one.
type Number struct {
	Value float64
	Known bool
}

// UnmarshalJSON never fails.
func (n *Number) UnmarshalJSON(raw []byte) error {
	*n = Number{}
	value, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64)
	if err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
		*n = Number{Value: value, Known: true}
	}
	return nil
}

// Int is the number without its fraction, limited to the range in which float64 has every integer.
func (n Number) Int() int64 { return int64(min(max(n.Value, -1<<53), 1<<53)) }

// Time is when something happened: a JSON number of any unit, or a string that holds one, without its
// fraction. 0 is not known. It is exact, because two times that differ are two events.
type Time int64

// UnmarshalJSON never fails.
func (t *Time) UnmarshalJSON(raw []byte) error {
	whole, err := strconv.ParseInt(strings.Trim(string(raw), `" `), 10, 64)
	if err != nil {
		var n Number
		_ = n.UnmarshalJSON(raw)
		if whole = n.Int(); math.Abs(n.Value) > 1<<53 { // it would be equal to others
			whole = 0
		}
	}
	*t = Time(max(whole, 0))
	return nil
}

// Code is a whole JSON number, or a string that holds one. A number close to 0 is not success.
type Code struct {
	Value int64
	Known bool
}

// UnmarshalJSON never fails.
func (c *Code) UnmarshalJSON(raw []byte) error {
	var n Number
	_ = n.UnmarshalJSON(raw)
	zero := strings.Trim(string(raw), `"-0. `) == ""
	*c = Code{Value: n.Int(), Known: n.Known && n.Value == float64(n.Int()) && zero == (n.Value == 0)}
	return nil
}

// Flag is a JSON boolean, 0 or 1, or a string that holds either.
type Flag struct{ Value, Known bool }

// UnmarshalJSON never fails.
func (f *Flag) UnmarshalJSON(raw []byte) error {
	switch text := strings.ToLower(strings.Trim(string(raw), `" `)); text {
	case "true", "1":
		*f = Flag{Value: true, Known: true}
	case "false", "0":
		*f = Flag{Known: true}
	default:
		*f = Flag{}
	}
	return nil
}

// Text is a JSON string, or the JSON of any other value.
type Text string

// UnmarshalJSON never fails.
func (t *Text) UnmarshalJSON(raw []byte) error {
	var s string
	switch {
	case isPlain(raw):
		*t = Text(raw[1 : len(raw)-1])
	case json.Unmarshal(raw, &s) == nil:
		*t = Text(s)
	case !bytes.Equal(raw, []byte("null")):
		*t = Text(raw)
	}
	return nil
}

// isPlain reports whether a string has no escapes. Most have none, and an answer about a thousand hosts
// has ten thousand strings.
func isPlain(raw []byte) bool {
	return len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw)
}

// TaskID is the id of a task: a string in the documents, and a number from some servers. It is sent as a
// string.
type TaskID string

// UnmarshalJSON fails for any other value. The operation was accepted, so that counts as a lost answer.
func (id *TaskID) UnmarshalJSON(raw []byte) error {
	var number json.Number // accepts a string only if it holds a number
	if json.Unmarshal(raw, &number) == nil {
		*id = TaskID(number)
		return nil
	}
	return json.Unmarshal(raw, (*string)(id))
}

// Texts is a JSON object of strings. null is an empty one, as some servers write it. Any other value, or
// none, is nil.
type Texts map[string]string

// UnmarshalJSON never fails.
func (t *Texts) UnmarshalJSON(raw []byte) error {
	*t = nil
	var texts map[string]string // as a rule
	if bkapi.Decode(raw, &texts) == nil && texts != nil {
		*t = texts
		return nil
	}
	var values map[string]Text
	if json.Unmarshal(raw, &values) == nil {
		*t = make(Texts, len(values))
		for k, v := range values {
			(*t)[k] = string(v)
		}
	}
	return nil
}

// Many is a JSON array of T, or one T without the array. Any other value is empty.
type Many[T any] []T

// UnmarshalJSON never fails.
func (m *Many[T]) UnmarshalJSON(raw []byte) error {
	*m = nil
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		// As a rule all elements can be read. Reading them one by one takes half as long again.
		var all []T
		if bkapi.Decode(raw, &all) == nil {
			*m = all
			return nil
		}
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
		*m = Many[T]{one}
	}
	return nil
}
