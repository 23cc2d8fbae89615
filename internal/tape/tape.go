// Package tape records exchanges between a platform and its clients, and plays them against the simulator.
// A tape is a text file with one JSON document on each line. The first line has the format, and each
// other line is one exchange. It contains no secrets, and real hosts, ids, names, labels and commands are
// replaced by pseudonyms.
package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Format is the version of a tape's format.
const Format = 1

// header is the first line of a tape.
type header struct {
	Tape int `json:"tape"`
}

// Exchange is one request and its response.
type Exchange struct {
	// At is when the request arrived, in milliseconds since the tape began, and Took how long it took.
	At   int64 `json:"at_ms"`
	Took int64 `json:"took_ms"`
	// Credentials is where the credentials were: header, body or query, "" for none.
	Credentials string `json:"credentials,omitempty"`
	Method      string `json:"method"`
	Path        string `json:"path"`
	Query       string `json:"query,omitempty"`
	// Request and Response are JSON. A body that was not JSON is a string.
	Request  json.RawMessage `json:"request,omitempty"`
	Status   int             `json:"status"`
	Response json.RawMessage `json:"response,omitempty"`

	// Line is the number of the line in the file.
	Line int `json:"-"`
}

// places are the values of Credentials.
var places = []string{"", "header", "body", "query"}

// Parse reads the text of a file. Errors name the file, the line, and the valid form.
func Parse(file string, text []byte) ([]Exchange, error) {
	var exchanges []Exchange
	begun := false
	line := 0
	for raw := range bytes.Lines(text) {
		line++
		if raw = bytes.TrimSpace(raw); len(raw) == 0 {
			continue
		}
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", file, line, fmt.Sprintf(format, args...))
		}
		if !begun {
			var h header
			if err := strict(raw, &h); err != nil || h.Tape != Format {
				return nil, wrong(`this is not the first line of a tape that this release reads; want {"tape":%d}, as bk-doctor record of this release writes`, Format)
			}
			begun = true
			continue
		}
		e := Exchange{Line: line}
		if err := strict(raw, &e); err != nil {
			return nil, wrong("%s", explain(err))
		}
		if why := e.wrong(); why != "" {
			return nil, wrong("%s", why)
		}
		exchanges = append(exchanges, e)
	}
	switch {
	case !begun:
		return nil, fmt.Errorf(`%s:1: the file is empty; want {"tape":%d} and one exchange on each further line`, file, Format)
	case len(exchanges) == 0:
		return nil, fmt.Errorf("%s:%d: there is no exchange; record again while Terraform works through the proxy", file, line)
	}
	return exchanges, nil
}

func strict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON document; want one on each line")
	}
	return nil
}

var unknownMember = regexp.MustCompile(`unknown field (".*")`)

// explain returns what is wrong with a line, and what would be valid.
func explain(err error) string {
	var wrongType *json.UnmarshalTypeError
	switch member := unknownMember.FindStringSubmatch(err.Error()); {
	case member != nil:
		return member[1] + " is not a member of an exchange; want at_ms, took_ms, credentials, method, path, query, request, status, response"
	case errors.As(err, &wrongType) && wrongType.Field == "":
		return "this is a JSON " + wrongType.Value + "; want an exchange, {…}"
	case errors.As(err, &wrongType):
		return fmt.Sprintf("%s is a JSON %s; want %s", wrongType.Field, wrongType.Value, map[bool]string{true: "text", false: "a whole number"}[wrongType.Type.Kind().String() == "string"])
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the line ends too early; remove it, or record again"
	}
	return "this is not one JSON document: " + strings.TrimPrefix(err.Error(), "json: ")
}

// wrong returns which value of an exchange is invalid, or "".
func (e Exchange) wrong() string {
	switch {
	case e.Method == "" || strings.ContainsFunc(e.Method, func(r rune) bool { return r < 'A' || r > 'Z' }):
		return fmt.Sprintf("method is %q; want one such as POST", e.Method)
	case !strings.HasPrefix(e.Path, "/"):
		return fmt.Sprintf("path is %q; want one that begins with /", e.Path)
	case e.Status < 100 || e.Status > 599:
		return fmt.Sprintf("status is %d; want one of HTTP, 100 to 599", e.Status)
	case e.At < 0 || e.Took < 0:
		return "at_ms and took_ms are milliseconds; want 0 or more"
	case !slices.Contains(places, e.Credentials):
		return fmt.Sprintf(`credentials is %q; want "header", "body", "query" or none`, e.Credentials)
	}
	return ""
}

// line encodes a JSON document on one line.
func line(document any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(document)
	return text.Bytes(), err
}
