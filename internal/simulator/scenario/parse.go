package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/simulator/control"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
)

// Parse reads a scenario. An error is "file:line: what is wrong, and what is valid".
func Parse(file string, data []byte) (*Scenario, error) {
	var outline struct {
		Title     string            `json:"title"`
		Teaches   string            `json:"teaches"`
		Simulator map[string]string `json:"simulator"`
		Steps     []json.RawMessage `json:"steps"`
	}
	in := source{file, data}
	if err := in.decode(0, data, &outline); err != nil {
		return nil, err
	}
	if outline.Title == "" || len(outline.Steps) == 0 {
		return nil, in.wrong(0, errors.New(`a scenario has "title", "teaches", "simulator" and at least one of "steps"`))
	}
	scenario := &Scenario{Title: outline.Title, Teaches: outline.Teaches, Simulator: outline.Simulator}
	begun, at := make(map[string]bool), 0
	for i, raw := range outline.Steps {
		at += bytes.Index(data[at:], raw)
		var step Step
		if err := in.decode(at, raw, &step); err != nil {
			return nil, err
		}
		if err := step.check(begun); err != nil {
			return nil, in.wrong(at, fmt.Errorf("step %d: %w", i+1, err))
		}
		scenario.Steps = append(scenario.Steps, step)
		at += len(raw)
	}
	return scenario, nil
}

type source struct {
	file string
	data []byte
}

// wrong adds the file, and the line of an offset in it, to an error.
func (s source) wrong(at int, err error) error {
	line := 1 + bytes.Count(s.data[:min(at, len(s.data))], []byte("\n"))
	return fmt.Errorf("%s:%d: %w", s.file, line, err)
}

// decode decodes the part of the file at an offset, and rejects unknown members.
func (s source) decode(at int, part []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(part))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return s.wrong(at+int(dec.InputOffset()), errors.New("the file continues after the scenario; it must contain exactly one"))
	}
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return s.wrong(len(s.data), errors.New("the file ends in the middle; a scenario is one JSON object"))
	case errors.As(err, &syntax):
		return s.wrong(at+int(syntax.Offset), fmt.Errorf("not JSON: %w", err))
	case errors.As(err, &typ):
		return s.wrong(at+place(part, lastOf(typ.Field)), fmt.Errorf("%s is a JSON %s; want %s", typ.Field, typ.Value, kind(typ.Type)))
	}
	if unknown := unknownField.FindStringSubmatch(err.Error()); unknown != nil {
		return s.wrong(at+place(part, unknown[1]), fmt.Errorf("%q is not known here; %s", unknown[1], suggestion(unknown[1], into)))
	}
	return s.wrong(at+place(part, "after"), err)
}

var unknownField = regexp.MustCompile(`unknown field "(.*)"`)

// place returns the offset of a member in a part of the file, 0 if it is not found.
func place(part []byte, member string) int {
	found := regexp.MustCompile(`"` + regexp.QuoteMeta(member) + `"\s*:`).FindIndex(part)
	if found == nil {
		return 0
	}
	return found[0]
}

func lastOf(field string) string { return field[strings.LastIndex(field, ".")+1:] }

// kind describes the JSON value of a type.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	default:
		return "a number"
	}
}

// suggestion names the most similar known member, or else all known members.
func suggestion(unknown string, into any) string {
	known := members(reflect.TypeOf(into))
	if step, ok := into.(*Step); ok {
		for _, part := range []any{step.When, fault.Fault{}, control.Act{}, control.Status{}, cmdb.Change{}} {
			known = append(known, members(reflect.TypeOf(part))...)
		}
		known = append(known, "takes", "delay", "delay_max", "stall", "drip") // of a fault, which has them as texts
	}
	nearest := slices.MinFunc(known, func(a, b string) int { return distance(unknown, a) - distance(unknown, b) })
	if distance(unknown, nearest) <= 2 {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	return "a scenario has " + strings.Join(members(reflect.TypeFor[Scenario]()), ", ") + ", and a step " + strings.Join(members(reflect.TypeFor[Step]()), ", ")
}

// members returns the names of a type's members in JSON.
func members(t reflect.Type) []string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var names []string
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// distance returns the number of letters to change, insert or remove.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
