package bkapi_test

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"plain":           {"up and running", "up and running"},
		"lines-and-tabs":  {"one\n\ttwo\n", "one\n\ttwo\n"},
		"other-line-ends": {"one\r\ntwo\vthree\ffour\u0085five\u2028six", "one\ntwo three four five six"},
		"other-spaces":    {"one\u00a0two\u3000three", "one two three"},
		"languages":       {"进程启动失败 é ß Ω 🙂", "进程启动失败 é ß Ω 🙂"},
		"escape":          {"\x1b[31mred\x1b[0m", "[31mred[0m"},
		"title":           {"\x1b]0;owned\a", "]0;owned"},
		"delete":          {"a\b\x7fb\x00", "ab"},
		"c1":              {"\u009b31m\u0090q\u009c", "31mq"},
		"c1-as-bytes":     {"\x9b31m", "\uFFFD31m"},
		"latin-1":         {"caf\xe9 au lait", "caf\uFFFD au lait"},
		"bidi":            {"\u202ecod.exe\u202c \u2066x\u2069 \u200f\u061c", "cod.exe x "},
		"invisible":       {"a\u200b\u200d\ufeff\u00ad\U000E0041b", "ab"},
		"private-use":     {"\ue000x\U0010fffd", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := bkapi.Printable(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b\x9b\u009b\u202e\r\n\t")
	f.Fuzz(func(t *testing.T, text string) {
		got := bkapi.Printable(text)
		if !utf8.ValidString(got) || bkapi.Printable(got) != got {
			t.Errorf("%q becomes %q", text, got)
		}
		for _, char := range got {
			if !unicode.IsPrint(char) && char != '\n' && char != '\t' {
				t.Errorf("%U is in %q", char, got)
			}
		}
	})
}
