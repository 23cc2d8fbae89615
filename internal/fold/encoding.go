package fold

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

var errJSON = errors.New("the value came as JSON; this provider takes MessagePack")

// anUnknown is an unknown value without refinements. Those that Terraform may send for a map mean nothing for
// a string.
var anUnknown = msgpack.RawMessage{msgpcode.FixExt1, 0, 0}

// cut reads one value from the beginning of text, and returns the rest.
func cut[T any](text string, read func(*msgpack.Decoder) (T, error)) (value T, rest string, err error) {
	from := strings.NewReader(text)
	value, err = read(msgpack.NewDecoder(from))
	return value, text[len(text)-from.Len():], err
}

func cutMapLen(text string) (n int, rest string, err error) {
	return cut(text, (*msgpack.Decoder).DecodeMapLen)
}

// cutString reads a string. A string of less than 256 bytes, such as a key or an address, is a slice of text,
// where the library would make a copy.
func cutString(text string) (value, rest string, err error) {
	begin, end := 0, 0
	switch {
	case text == "":
	case msgpcode.IsFixedString(text[0]):
		begin, end = 1, 1+int(text[0]&msgpcode.FixedStrMask)
	case text[0] == msgpcode.Str8 && len(text) > 1:
		begin, end = 2, 2+int(text[1])
	}
	if begin == 0 || end > len(text) {
		return cut(text, (*msgpack.Decoder).DecodeString)
	}
	return text[begin:end], text[end:], nil
}

// cutElement reads a string, null or an unknown value.
func cutElement(text string) (element Element, rest string, err error) {
	switch {
	case text == "":
		return Element{}, "", io.ErrUnexpectedEOF
	case text[0] == msgpcode.Nil:
		return Element{Null: true}, text[1:], nil
	case msgpcode.IsExt(text[0]):
		return cut(text, func(from *msgpack.Decoder) (Element, error) { return Element{Unknown: true}, from.Skip() })
	}
	element.Value, rest, err = cutString(text)
	return element, rest, err
}

// dynamicValues folds and unfolds attributes, and keeps the first error.
type dynamicValues struct {
	folded attributes
	err    error
}

// fold converts a value from Terraform for the framework.
func (d *dynamicValues) fold(value *tfprotov6.DynamicValue) *tfprotov6.DynamicValue {
	return d.rewrite(value, func(content msgpack.RawMessage, to *msgpack.Encoder) error {
		switch {
		case msgpcode.IsExt(content[0]):
			return to.Encode(anUnknown)
		case content[0] == msgpcode.Nil:
			return to.Encode(content)
		}
		return to.EncodeString(string(content))
	})
}

// unfold converts a value from the framework for Terraform.
func (d *dynamicValues) unfold(value *tfprotov6.DynamicValue) *tfprotov6.DynamicValue {
	return d.rewrite(value, func(content msgpack.RawMessage, to *msgpack.Encoder) error {
		if content[0] == msgpcode.Nil || msgpcode.IsExt(content[0]) {
			return to.Encode(content)
		}
		folded, err := msgpack.NewDecoder(bytes.NewReader(content)).DecodeString()
		if err != nil {
			return err
		}
		if folded, err = fromState(folded); err != nil {
			return err
		}
		return to.Encode(msgpack.RawMessage(folded))
	})
}

// rewrite copies an object and rewrites its folded attributes. A value that is not an object, such as null
// in a destroy, stays unchanged.
func (d *dynamicValues) rewrite(value *tfprotov6.DynamicValue, write func(msgpack.RawMessage, *msgpack.Encoder) error) *tfprotov6.DynamicValue {
	if d.err != nil || value == nil || len(d.folded) == 0 {
		return value
	}
	if len(value.MsgPack) == 0 {
		if len(value.JSON) > 0 {
			d.err = errJSON
		}
		return value
	}
	rewritten, err := rewriteAttributes(value.MsgPack, d.folded, write)
	if err != nil {
		d.err = fmt.Errorf("reading the attributes %q: %w", slices.Sorted(maps.Keys(d.folded)), err)
		return value
	}
	return &tfprotov6.DynamicValue{MsgPack: rewritten}
}

func rewriteAttributes(object []byte, folded attributes, write func(msgpack.RawMessage, *msgpack.Encoder) error) ([]byte, error) {
	reader := bytes.NewReader(object)
	from := msgpack.NewDecoder(reader)
	code, err := from.PeekCode()
	if err != nil {
		return nil, err
	}
	if code == msgpcode.Nil || msgpcode.IsExt(code) {
		return object, nil
	}
	n, err := from.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	buffer.Grow(len(object) + 16)
	to := msgpack.NewEncoder(&buffer)
	if err := to.EncodeMapLen(n); err != nil {
		return nil, err
	}
	for range n {
		key, err := from.DecodeString()
		if err != nil {
			return nil, err
		}
		// DecodeRaw would copy the content twice.
		content := msgpack.RawMessage(object[len(object)-reader.Len():])
		if err := from.Skip(); err != nil {
			return nil, err
		}
		content = content[:len(content)-reader.Len()]
		if err := to.EncodeString(key); err != nil {
			return nil, err
		}
		if _, is := folded[key]; is {
			err = write(content, to)
		} else {
			err = to.Encode(content)
		}
		if err != nil {
			return nil, err
		}
	}
	return buffer.Bytes(), nil
}
