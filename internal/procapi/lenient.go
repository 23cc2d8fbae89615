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

// The types in this file read JSON leniently. Other clients have seen numbers as strings, single objects in
// place of lists, and documents inside strings. A value that cannot be read becomes zero with Known = false. It
// never makes the results of other hosts unreadable.

// Number is a JSON number, or a string that contains one.
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

// Int returns the number without its fraction, limited to the range in which float64 represents every integer.
func (n Number) Int() int64 { return int64(min(max(n.Value, -1<<53), 1<<53)) }

// Time is a point in time: a JSON number of any unit, or a string that contains one, without its fraction. 0
// means unknown. It is exact, because two different times are taken as two different events.
type Time int64

// UnmarshalJSON never fails.
func (t *Time) UnmarshalJSON(raw []byte) error {
	whole, err := strconv.ParseInt(strings.Trim(string(raw), `" `), 10, 64)
	if err != nil {
		var n Number
		_ = n.UnmarshalJSON(raw)
		if whole = n.Int(); math.Abs(n.Value) > 1<<53 { // float64 does not distinguish it from its neighbours
			whole = 0
		}
	}
	*t = Time(max(whole, 0))
	return nil
}

// Code is a whole JSON number, or a string that contains one. A number close to 0, such as 1e-400, is not
// success.
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

// Flag is a JSON boolean, 0 or 1, or a string that contains either.
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

// Text is a JSON string, or the JSON text of any other value. null is "".
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

// isPlain reports whether raw is a string without escapes. Most strings are, and an answer about a thousand
// hosts has ten thousand strings.
func isPlain(raw []byte) bool {
	return len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw)
}

// TaskID is the id of a task. The documents have a string, some servers return a number. It is sent back as a
// string.
type TaskID string

// UnmarshalJSON fails for any other value. The operation was accepted by then, so that failure counts as a lost
// answer.
func (id *TaskID) UnmarshalJSON(raw []byte) error {
	var number json.Number // accepts a string only if it holds a number
	if json.Unmarshal(raw, &number) == nil {
		*id = TaskID(number)
		return nil
	}
	return json.Unmarshal(raw, (*string)(id))
}

// Texts is a JSON object of strings. null, which some servers write, is an empty object. Any other value, or a
// missing one, is nil.
type Texts map[string]string

// UnmarshalJSON never fails.
func (t *Texts) UnmarshalJSON(raw []byte) error {
	*t = nil
	var texts map[string]string // the usual form
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

// Many is a JSON array of T, or a single T without the array. Any other value is empty.
type Many[T any] []T

// UnmarshalJSON never fails.
func (m *Many[T]) UnmarshalJSON(raw []byte) error {
	*m = nil
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		// Usually all elements can be read. Reading them one by one takes half as long again.
		var all []T
		if bkapi.Decode(raw, &all) == nil {
			*m = all
			return nil
		}
		var items []json.RawMessage
		_ = json.Unmarshal(raw, &items) // an unreadable list has no items
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
