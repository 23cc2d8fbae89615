package bkapi

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// own is a type that reads its JSON itself, of any kind.
type own string

func (o *own) UnmarshalJSON(raw []byte) error {
	*o = own("own " + string(raw))
	return nil
}

// plainly has each kind of value that is decoded plainly.
type plainly struct {
	members

	Text  string             `json:"text"`
	Own   own                `json:"own,omitempty"`
	Raw   json.RawMessage    `json:"raw"`
	Lists []struct{ S own }  `json:"lists"`
	Texts map[string]string  `json:"texts"`
	Deep  map[string]plainer `json:"deep"`
	Data  any                `json:"data"`
}

type plainer struct {
	Name   string `json:"name"`
	Unseen string `json:"-"`
}

// examples are texts that are decoded plainly.
var examples = []string{
	`{}`, ` { } `, `{"text":""}`, `{"text":"a","own":1,"raw":{"a":[1,2.5e-3,-0.1E+7,true,false,null,"x"]},"lists":[],"texts":{}}`,
	"\n{\t\"text\" : \"\\\"\\\\\\/\\b\\f\\n\\r\\t é 成功\" ,\r\n\"lists\": [ {\"S\":null}, {\"S\": \"x\"} ] }\n",
	`{"text":"\u6210\ud83d\ude00\ud83d","own":"\u00e9"}`, `{"deep":{"a":{"name":"b"},"c":{}},"texts":{"a":"b","c":""}}`,
	`{"result":true,"code":0,"message":"ok","data":{"name":"x","more":[{"y":[]}]}}`,
	`{"own":{},"unknown":-12,"others":0,"zero":-0,"e":1E5}`,
}

// careful are texts that are left to encoding/json, or are no JSON.
var careful = []string{
	"", " ", "null", "1", `"a"`, "[]", "{", `{"text"`, `{"text":`, `{"text":"a`, `{"text":"a"`, `{"text":"a",}`, `{"text":"a"}}`, `{"text":"a"} x`,
	`{"text":null}`, `{"text":1}`, `{"lists":null}`, `{"deep":null}`, `{"data":null}`, `{"text":"a","text":"b"}`, `{"TEXT":"a"}`,
	`{"te\u0078t":"a"}`, `{"texts":{"a":"b","a":"c"}}`, `{"texts":{"a":null}}`, `{"deep":{"a":null}}`, "{\"text\":\"\x01\"}", "{\"text\":\"\xff\"}",
	`{"text":"\x"}`, `{"text":"\u12g4"}`, `{"text":"\u12"}`, `{"own":01}`, `{"own":1.}`, `{"own":.5}`, `{"own":1e}`, `{"own":+1}`, `{"own":-}`,
	`{"own":tru}`, `{"own":nul}`, `{own:1}`, `{"own" 1}`, `{"own":1 "raw":2}`, `{"own":[1,]}`, `{"own":[1}`,
	`{"own":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}", "{\"li\u017Fts\":[]}",
}

// readBoth reports whether a text was decoded plainly. If it was, the result is that of encoding/json.
func readBoth(t *testing.T, text string) bool {
	t.Helper()
	plain, want := plainly{Data: new(plainer)}, plainly{Data: new(plainer)}
	read := DecodePlain([]byte(text), &plain)
	err := json.Unmarshal([]byte(text), &want)
	if read && (err != nil || !reflect.DeepEqual(plain, want)) {
		t.Errorf("%s\ngot  %+v\nwant %+v, %v", text, plain, want, err)
	}
	return read
}

func TestDecodePlain(t *testing.T) {
	t.Parallel()
	for _, text := range examples {
		if !readBoth(t, text) {
			t.Errorf("%s is not decoded", text)
		}
	}
	for _, text := range careful {
		if readBoth(t, text) {
			t.Errorf("%s is decoded without care", text)
		}
	}
}

// What is not a plain type is left to encoding/json.
func TestDecodePlain_otherTypes(t *testing.T) {
	t.Parallel()
	type tree struct {
		Trees []tree `json:"trees"`
	}
	for text, into := range map[string]any{
		`1`: new(int), `true`: new(bool), `{"trees":[{"trees":[]}]}`: new(tree), `"1"`: new(json.Number), `{"1":"a"}`: new(map[int]string),
		`{"n":"1"}`: new(struct {
			N string `json:"n,string"`
		}),
		`{}`: plainly{}, `"a"`: (*string)(nil), `{"a":1}`: new(any),
	} {
		if DecodePlain([]byte(text), into) {
			t.Errorf("%s is decoded into %T", text, into)
		}
	}
}

func FuzzDecodePlain(f *testing.F) {
	for _, text := range append(examples, careful...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { readBoth(t, text) })
}
