package bkapi

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// DecodePlain decodes JSON as json.Unmarshal does, in a third of the time. It decodes only what needs no
// care, and otherwise returns false: then into is in any state, and json.Unmarshal has to decide. That is so
// for what is no JSON, for a member that is there twice or in another case than its field, and for null
// where the type does not read it itself. Types are structs, slices, texts and maps of them.
func DecodePlain(text []byte, into any) bool {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return false
	}
	r := reader{rest: text}
	return decoderOf(target.Type().Elem())(&r, target.Elem()) && r.peek() == 0 && len(r.rest) == 0
}

// decoder reads one value into a target that is zero.
type decoder func(r *reader, to reflect.Value) bool

// decoders caches them by type.
var decoders sync.Map

func decoderOf(typ reflect.Type) decoder {
	if known, is := decoders.Load(typ); is {
		return known.(decoder) //nolint:forcetypeassert // nothing else is stored
	}
	made := newDecoder(typ, nil)
	decoders.Store(typ, made)
	return made
}

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	numberType = reflect.TypeFor[json.Number]()
	ownsJSON   = reflect.TypeFor[json.Unmarshaler]()
	ownsText   = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// newDecoder is the decoder of a type that is part of others.
func newDecoder(typ reflect.Type, of []reflect.Type) decoder {
	switch within := append(slices.Clone(of), typ); {
	case typ == rawType:
		return decodeRaw
	case reflect.PointerTo(typ).Implements(ownsJSON):
		return decodeOwn
	case reflect.PointerTo(typ).Implements(ownsText), typ == numberType, slices.Contains(of, typ):
		return refuse
	case typ.Kind() == reflect.String:
		return decodeText
	case typ.Kind() == reflect.Slice:
		return sliceDecoder(newDecoder(typ.Elem(), within))
	case typ.Kind() == reflect.Map && typ.Key() == reflect.TypeFor[string]():
		return mapDecoder(typ, newDecoder(typ.Elem(), within))
	case typ.Kind() == reflect.Struct:
		return structDecoder(membersOf(typ, within))
	case typ.Kind() == reflect.Interface:
		return decodeInside
	default:
		return refuse
	}
}

func refuse(*reader, reflect.Value) bool { return false }

func decodeRaw(r *reader, to reflect.Value) bool {
	raw, ok := r.value(0)
	if ok {
		to.SetBytes(bytes.Clone(raw))
	}
	return ok
}

// decodeOwn decodes a type with its own UnmarshalJSON.
func decodeOwn(r *reader, to reflect.Value) bool {
	raw, ok := r.value(0)
	own, is := to.Addr().Interface().(json.Unmarshaler)
	return ok && is && own.UnmarshalJSON(raw) == nil
}

func decodeText(r *reader, to reflect.Value) bool {
	text, ok := r.text()
	if ok {
		to.SetString(text)
	}
	return ok
}

// decodeInside decodes into what a pointer in an interface points to.
func decodeInside(r *reader, to reflect.Value) bool {
	pointer := to.Elem()
	return pointer.Kind() == reflect.Pointer && !pointer.IsNil() && decoderOf(pointer.Type().Elem())(r, pointer.Elem())
}

func sliceDecoder(element decoder) decoder {
	return func(r *reader, to reflect.Value) bool {
		to.Set(reflect.MakeSlice(to.Type(), 0, 0))
		return r.elements('[', ']', func() bool {
			n := to.Len()
			to.Grow(1)
			to.SetLen(n + 1)
			return element(r, to.Index(n))
		})
	}
}

func mapDecoder(typ reflect.Type, element decoder) decoder {
	return func(r *reader, to reflect.Value) bool {
		to.Set(reflect.MakeMap(typ))
		value := reflect.New(typ.Elem()).Elem()
		return r.members(func(name []byte) bool {
			key := reflect.ValueOf(string(name))
			if to.MapIndex(key).IsValid() {
				return false
			}
			value.SetZero()
			ok := element(r, value)
			to.SetMapIndex(key, value)
			return ok
		})
	}
}

// member is a field of a struct.
type member struct {
	name   string
	index  []int
	decode decoder
}

// membersOf are the members of a struct, nil if there is one that needs care.
func membersOf(typ reflect.Type, within []reflect.Type) []member {
	var members []member
	for _, field := range reflect.VisibleFields(typ) {
		tag := field.Tag.Get("json")
		if field.Anonymous && tag == "" && field.Type.Kind() == reflect.Struct || tag == "-" || !field.IsExported() {
			continue // the fields of an embedded struct follow
		}
		name, option, _ := strings.Cut(tag, ",")
		name = cmp.Or(name, field.Name)
		if i, _ := find(members, []byte(name)); i >= 0 || option == "string" || len(members) == maxMembers {
			return nil
		}
		members = append(members, member{name, field.Index, newDecoder(field.Type, within)})
	}
	return members
}

// maxMembers is how many members a set of bits can have.
const maxMembers = 64

func structDecoder(members []member) decoder {
	return func(r *reader, to reflect.Value) bool {
		var seen uint64
		return len(members) > 0 && r.members(func(name []byte) bool {
			i, exact := find(members, name)
			switch {
			case i < 0:
				_, ok := r.value(0)
				return ok
			case !exact || seen&(1<<i) != 0:
				return false
			}
			seen |= 1 << i
			return members[i].decode(r, to.FieldByIndex(members[i].index))
		})
	}
}

// find is the member of a name, -1 for none. It is not exact if only the case differs.
func find(members []member, name []byte) (i int, exact bool) {
	for i := range members {
		if members[i].name == string(name) {
			return i, true
		}
	}
	// Most names are of members that nobody asks for.
	ascii := !bytes.ContainsFunc(name, func(c rune) bool { return c >= utf8.RuneSelf })
	for i := range members {
		if ascii && len(members[i].name) != len(name) {
			continue
		}
		if strings.EqualFold(members[i].name, string(name)) {
			return i, false
		}
	}
	return -1, false
}

// reader reads JSON from its beginning. A value that is no JSON is not read.
type reader struct{ rest []byte }

// peek is the next byte that is no white space, 0 at the end.
func (r *reader) peek() byte {
	for i, c := range r.rest {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			r.rest = r.rest[i:]
			return c
		}
	}
	r.rest = nil
	return 0
}

func (r *reader) skip(c byte) bool {
	if r.peek() != c || c == 0 {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// elements calls read for each element between brackets.
func (r *reader) elements(first, last byte, read func() bool) bool {
	if !r.skip(first) {
		return false
	}
	if r.skip(last) {
		return true
	}
	for {
		if !read() {
			return false
		}
		if !r.skip(',') {
			return r.skip(last)
		}
	}
}

// members calls read for each member of an object, with its name.
func (r *reader) members(read func(name []byte) bool) bool {
	return r.elements('{', '}', func() bool {
		raw, escaped, ok := r.quoted()
		return ok && !escaped && r.skip(':') && read(raw)
	})
}

// deepest is how deep values may be nested.
const deepest = 100

// value is the next value, as it is.
func (r *reader) value(depth int) (raw []byte, ok bool) {
	first := r.peek()
	before := r.rest
	switch first {
	case '"':
		_, _, ok = r.quoted()
	case '{':
		ok = depth < deepest && r.members(func([]byte) bool { _, ok := r.value(depth + 1); return ok })
	case '[':
		ok = depth < deepest && r.elements('[', ']', func() bool { _, ok := r.value(depth + 1); return ok })
	case 't':
		ok = r.word("true")
	case 'f':
		ok = r.word("false")
	case 'n':
		ok = r.word("null")
	default:
		ok = r.number()
	}
	return before[:len(before)-len(r.rest)], ok
}

func (r *reader) word(word string) bool {
	rest, found := bytes.CutPrefix(r.rest, []byte(word))
	r.rest = rest
	return found
}

// number reads a number: digits without a leading zero, a fraction and an exponent.
func (r *reader) number() bool {
	r.rest = bytes.TrimPrefix(r.rest, []byte("-"))
	leading := bytes.HasPrefix(r.rest, []byte("0"))
	if n := r.digits(); n == 0 || leading && n > 1 {
		return false
	}
	if bytes.HasPrefix(r.rest, []byte(".")) {
		r.rest = r.rest[1:]
		if r.digits() == 0 {
			return false
		}
	}
	if !bytes.HasPrefix(r.rest, []byte("e")) && !bytes.HasPrefix(r.rest, []byte("E")) {
		return true
	}
	r.rest = r.rest[1:]
	if bytes.HasPrefix(r.rest, []byte("+")) || bytes.HasPrefix(r.rest, []byte("-")) {
		r.rest = r.rest[1:]
	}
	return r.digits() > 0
}

// digits reads digits and returns how many.
func (r *reader) digits() int {
	n := 0
	for n < len(r.rest) && '0' <= r.rest[n] && r.rest[n] <= '9' {
		n++
	}
	r.rest = r.rest[n:]
	return n
}

// quoted is what is between quotes, and whether it has escapes.
func (r *reader) quoted() (content []byte, escaped, ok bool) {
	if r.peek() != '"' {
		return nil, false, false
	}
	ascii, text := true, r.rest
	for i := 1; i < len(text); i++ {
		if !isSpecial[text[i]] {
			continue
		}
		switch c := text[i]; {
		case c == '"':
			content, r.rest = text[1:i], text[i+1:]
			return content, escaped, ascii || utf8.Valid(content)
		case c == '\\':
			escaped = true
			i++
			if !isEscape(text[i:]) {
				return nil, true, false
			}
		case c < ' ':
			return nil, false, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false, false
}

// isSpecial are the bytes of a text that do not stand for themselves, or may not.
var isSpecial = func() (special [256]bool) {
	for c := range special {
		special[c] = c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf
	}
	return special
}()

// escapes are the characters that stand for others after a backslash, besides u with four digits.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// isEscape reports whether a text after a backslash begins with an escape.
func isEscape(text []byte) bool {
	const digits = "0123456789abcdefABCDEF"
	if len(text) > 4 && text[0] == 'u' {
		return len(bytes.Trim(text[1:5], digits)) == 0
	}
	return len(text) > 0 && escapes[text[0]] != 0
}

// text is the next value, which must be a text.
func (r *reader) text() (text string, ok bool) {
	content, escaped, ok := r.quoted()
	if !ok || !escaped {
		return string(content), ok
	}
	var plain strings.Builder
	plain.Grow(len(content))
	for i := 0; i < len(content); i++ {
		c := content[i]
		if c == '\\' {
			i++
			c = escapes[content[i]]
		}
		if c == 0 { // an escape of four digits, which may be half of a character
			err := json.Unmarshal(slices.Concat([]byte(`"`), content, []byte(`"`)), &text)
			return text, err == nil
		}
		plain.WriteByte(c)
	}
	return plain.String(), true
}
