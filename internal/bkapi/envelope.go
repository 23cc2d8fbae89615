package bkapi

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	json "github.com/go-json-experiment/json/v1"
)

type envelope struct {
	ok        bool
	code      int64
	message   string
	requestID string
	older     bool // it has bk_error_code, and no code
	data      json.RawMessage
}

// members holds the members of an envelope other than data, undecoded. Gateways differ in which members they
// send and in the types of these. So do successes and failures.
type members struct {
	Result    json.RawMessage `json:"result"`
	Code      json.RawMessage `json:"code"`
	Success   json.RawMessage `json:"success"`
	Message   json.RawMessage `json:"message"`
	RequestID json.RawMessage `json:"request_id"`

	// The older names. The ESB rewrites them to those above, and so does CMDB behind the gateway, except in
	// older releases.
	OldCode    json.RawMessage `json:"bk_error_code"`
	OldMessage json.RawMessage `json:"bk_error_msg"`

	// Error is the refusal of a gateway itself: {"code": …, "message": …}.
	Error json.RawMessage `json:"error"`
}

type wireEnvelope struct {
	members

	Data json.RawMessage `json:"data"`
}

// Reasons why an answer is not an envelope of the platform.
var (
	errNoObject  = errors.New("not a JSON object")
	errNoMembers = errors.New("neither result nor code")
)

// isForeign reports whether an answer without an envelope comes from another server, because it is a page or
// another service's JSON. An empty or broken answer may be the platform's.
func isForeign(err error) bool {
	return errors.Is(err, errNoObject) || errors.Is(err, errNoMembers)
}

// parseEnvelope decides whether the platform accepted a call. Nothing else does but readAtOnce, for the usual
// form. The platform accepted it unless a member says otherwise. So result must be absent, null or true, and
// the code absent, null, empty or zero in any spelling. success, which other services write, must not be false.
func parseEnvelope(body []byte) (envelope, error) {
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 {
		return envelope{}, errors.New("no envelope")
	}
	if trimmed[0] != '{' {
		return envelope{}, errNoObject
	}

	var wire wireEnvelope
	if err := json.Unmarshal(trimmed, &wire); err != nil {
		return envelope{}, fmt.Errorf("decoding the envelope: %w", err)
	}
	env, refused := wire.envelope()
	if !wire.isKnown() && !refused {
		return envelope{}, errNoMembers
	}
	env.data = wire.Data

	return env, nil
}

// Plain is implemented by data that has a usual form. An answer in that form is decoded in one pass, together
// with its envelope. An answer in any other form is decoded by the destination itself.
type Plain interface {
	// Plain returns a destination for the usual form, and a function that takes the data from there. take
	// reports whether there was data, all of which could be read.
	Plain() (form any, take func() bool)
}

// Decode is json.Unmarshal in one pass, for a destination that the caller discards after an error. Unmarshal
// first reads the whole text, so that a syntax error leaves the destination unchanged. If two members have the
// same name, the last one counts, and nothing of the other remains.
func Decode(text []byte, to any) error { return jsonv2.Unmarshal(text, to, inOnePass) }

var inOnePass = jsonv2.JoinOptions(json.DefaultOptionsV1(), json.ReportErrorsWithLegacySemantics(false), json.MergeWithLegacySemantics(false))

// readAtOnce reads an answer that accepts the call and has data in its plain form. Any other answer is left to
// parseEnvelope and decodeData, which scan the data four times. Of two members with the name data it reads
// both.
func readAtOnce(body []byte, out any) (env envelope, read bool) {
	if out == nil {
		return envelope{}, false
	}
	target := reflect.ValueOf(out).Elem()
	fresh := reflect.New(target.Type())
	form, take := fresh.Interface(), func() bool { return !fresh.Elem().IsZero() }
	if plain, is := form.(Plain); is {
		form, take = plain.Plain()
	}
	wire := struct {
		members

		Data any `json:"data"`
	}{Data: form}
	if Decode(body, &wire) != nil || wire.Data != form {
		return envelope{}, false
	}
	env, _ = wire.envelope()
	if !env.ok || !wire.areKnown() || !take() {
		return envelope{}, false
	}
	target.Set(fresh.Elem())

	return env, true
}

// envelope returns the content of the members, and whether a gateway itself refused.
func (m members) envelope() (env envelope, refused bool) {
	var inner wireEnvelope
	refused = m.Error != nil && json.Unmarshal(m.Error, &inner) == nil && inner.isKnown()
	env = envelope{
		ok:        !isFalse(m.Result) && !isFalse(m.Success) && !refused,
		requestID: textOf(m.RequestID),
		older:     m.OldCode != nil && m.Code == nil,
	}
	env.refuse(m.Code, m.Message)
	env.refuse(m.OldCode, m.OldMessage)
	env.refuse(inner.Code, inner.Message)

	return env, refused
}

// isKnown reports whether an object is an envelope of the platform. {"message": …} alone may be the error page
// of a web framework, and {"data": …} an answer of any service. So may both together, if data is empty.
func (w wireEnvelope) isKnown() bool {
	var data map[string]json.RawMessage
	return w.areKnown() || w.Message != nil && w.Success == nil && json.Unmarshal(w.Data, &data) == nil && len(data) > 0
}

// areKnown reports whether there is a member that only the platform sends.
func (m members) areKnown() bool { return m.Result != nil || m.Code != nil || m.OldCode != nil }

// refuse reads one of the places where an envelope may refuse a call. The first code and the first message
// found are the ones that are reported.
func (e *envelope) refuse(code, message json.RawMessage) {
	number, word := parseCode(code)
	if number != 0 || word != "" {
		e.ok = false
	}
	if e.code == 0 {
		e.code = number
	}
	if e.message == "" {
		e.message = strings.TrimSpace(word + " " + textOf(message))
	}
}

// isFalse reports whether result is false in any spelling. With any other result, the code decides.
func isFalse(result json.RawMessage) bool {
	switch strings.ToLower(textOf(result)) {
	case "false", "0":
		return true
	default:
		return false
	}
}

// parseCode returns the code as a number, whether it was sent as 115, "115", "00", "" or null. It returns a
// code that is not a number as word.
func parseCode(raw json.RawMessage) (number int64, word string) {
	text := textOf(raw)
	if text == "" {
		return 0, ""
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, ""
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f), ""
	}

	return 0, text
}

// textOf returns a JSON value as text: the trimmed content of a string, "" for null, and the JSON of any other
// value.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s)
	}

	return string(raw)
}

// checkOut rejects an invalid destination before anything is sent.
func checkOut(out any) error {
	if out == nil {
		return nil
	}
	if v := reflect.ValueOf(out); v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("decoding the answer into %T, which is not a pointer", out)
	}

	return nil
}

// decodeData decodes data into what out points to. There may be no data: null, or the empty string that some
// backends send instead. It decodes into a fresh value, because json.Unmarshal adds to maps and leaves absent
// fields alone. Otherwise a host missing from one answer would keep its verdict from an earlier one.
func decodeData(data json.RawMessage, out any) error {
	switch string(data) {
	case "", "null", `""`:
		return nil
	}
	if out == nil {
		return nil
	}

	target := reflect.ValueOf(out).Elem()
	fresh := reflect.New(target.Type())
	// data is part of a JSON text that was decoded before. So a type with its own UnmarshalJSON need not check
	// the syntax again, which saves a tenth of the time for an answer.
	decode := func() error { return json.Unmarshal(data, fresh.Interface()) }
	if own, ok := fresh.Interface().(json.Unmarshaler); ok {
		decode = func() error { return own.UnmarshalJSON(data) }
	}
	if err := decode(); err != nil {
		return err
	}
	target.Set(fresh.Elem())

	return nil
}
