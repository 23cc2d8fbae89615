package belief

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Format is the version of the profile's format.
const Format = 1

// Profile is what is known about one platform. It contains neither addresses nor secrets.
type Profile struct {
	// Answers are values by the ids of rows. A missing value is unknown.
	Answers map[string]string
}

// Value returns the value of a row, Unknown if there is none.
func (p Profile) Value(id string) string {
	if value, ok := p.Answers[id]; ok {
		return value
	}
	return Unknown
}

// Switches returns the simulator's switches that this platform needs, in the rows' order.
func (p Profile) Switches() []string {
	var on []string
	for _, b := range rows {
		if b.Switch && p.Value(b.ID) == Yes {
			on = append(on, b.ID)
		}
	}
	return on
}

// With returns the profile with the values of a later one, which take precedence. An
// unknown value does not replace a known one.
func (p Profile) With(later Profile) Profile {
	merged := Profile{make(map[string]string)}
	maps.Copy(merged.Answers, p.Answers)
	for id, value := range later.Answers {
		if value != Unknown || merged.Answers[id] == "" {
			merged.Answers[id] = value
		}
	}
	return merged
}

// Text returns the text of the file, with one row on each line, in the rows' order.
func (p Profile) Text() []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "{\n  \"format\": %d,\n  \"beliefs\": {", Format)
	separator := ""
	for _, b := range rows {
		if value, ok := p.Answers[b.ID]; ok {
			fmt.Fprintf(&text, "%s\n    %q: %q", separator, b.ID, value)
			separator = ","
		}
	}
	text.WriteString("\n  }\n}\n")
	return text.Bytes()
}

// ParseProfile reads the text of a file. Errors name the file, the line, and what would be
// valid.
func ParseProfile(file string, text []byte) (Profile, error) {
	r := reader{file: file, text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	r.dec.UseNumber()
	profile, err := r.profile()
	if err != nil {
		return Profile{}, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return Profile{}, r.wrong("there is more than one JSON document; want one")
	}
	return profile, nil
}

// reader reads a profile token by token, so that errors can name the line.
type reader struct {
	file string
	text []byte
	dec  *json.Decoder
}

func (r reader) wrong(format string, args ...any) error {
	line := 1 + bytes.Count(r.text[:min(int(r.dec.InputOffset()), len(r.text))], []byte("\n"))
	return fmt.Errorf("%s:%d: %s", r.file, line, fmt.Sprintf(format, args...))
}

func (r reader) profile() (Profile, error) {
	profile := Profile{make(map[string]string)}
	formatted := false
	err := r.object(func(key string) error {
		switch key {
		case "format":
			formatted = true
			return r.format()
		case "beliefs":
			return r.object(func(id string) error { return r.answer(profile, id) })
		default:
			return r.wrong(`%q is not a member of a profile; want "format" and "beliefs"`, key)
		}
	})
	if err == nil && !formatted {
		err = r.wrong(`there is no "format"; want "format": %d`, Format)
	}
	return profile, err
}

func (r reader) format() error {
	token, err := r.token()
	if err != nil {
		return err
	}
	if number, ok := token.(json.Number); !ok || number.String() != fmt.Sprint(Format) {
		return r.wrong("the format is %v; this release reads %d, so use the bk-doctor of the same release", token, Format)
	}
	return nil
}

func (r reader) answer(profile Profile, id string) error {
	token, err := r.token()
	if err != nil {
		return err
	}
	b, known := Find(id)
	if !known {
		return r.wrong("%q is no belief of this release; %s", id, suggestion(id))
	}
	value, ok := token.(string)
	if want := b.Kind.want(value); !ok || want != "" {
		return r.wrong("%s is %s; want %s", id, quoted(token), b.Kind.want("-"))
	}
	if _, twice := profile.Answers[id]; twice {
		return r.wrong("%s is there twice; remove one", id)
	}
	profile.Answers[id] = value
	return nil
}

// object reads an object. each reads the value of a key.
func (r reader) object(each func(key string) error) error {
	token, err := r.token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return r.wrong("%s; want an object, {…}", quoted(token))
	}
	for r.dec.More() {
		key, err := r.token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if err := each(name); err != nil {
			return err
		}
	}
	_, err = r.token()
	return err
}

func (r reader) token() (json.Token, error) {
	token, err := r.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil, r.wrong("the file ends too early; write it again with bk-doctor probe")
	case err != nil:
		return nil, r.wrong("it is not JSON: %v", err)
	}
	return token, nil
}

func quoted(token json.Token) string {
	if text, ok := token.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(token)
}

// suggestion suggests the row whose id shares the longest prefix with id.
func suggestion(id string) string {
	shared := func(name string) int {
		n := 0
		for n < min(len(name), len(id)) && name[n] == id[n] {
			n++
		}
		return n
	}
	best := slices.MaxFunc(IDs(), func(a, b string) int { return shared(a) - shared(b) })
	if shared(best) < 3 {
		return "want one of " + strings.Join(IDs(), ", ")
	}
	return fmt.Sprintf("did you mean %q?", best)
}
