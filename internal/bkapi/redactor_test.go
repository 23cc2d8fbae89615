package bkapi

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

func TestRedactor_text(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		secrets []string
		text    string
		want    string
	}{
		"plain":           {[]string{"s3cr3t"}, "got s3cr3t, s3cr3t", "got ***, ***"},
		"longest-first":   {[]string{"s3cr3t", "s3cr3t-and-more"}, "got s3cr3t-and-more", "got ***"},
		"none":            {[]string{"", ""}, "as it is", "as it is"},
		"too-short":       {[]string{"is"}, "as it is", "as it is"},
		"unseen-within":   {[]string{"s3cr3t"}, "got s3c\u200br\x1b3t", "got ***"},
		"unseen-spelling": {[]string{"s3cr3t中"}, "got s3cr3tä\u00b8\u00ad", "got ***"},
		"password-of-url": {nil, `invalid proxy address "http://u:pw@proxy:3128"`, `invalid proxy address "http://***@proxy:3128"`},
		"address-of-host": {nil, "http://proxy:3128/?a=b@c", "http://proxy:3128/?a=b@c"},

		// Characters that were lost on the way.
		"latin-1-as-utf-8":      {[]string{"motdépassé"}, "<mot\uFFFDpass\uFFFD>", "<mot\uFFFDpass\uFFFD>"}, // without the d
		"one-mark-a-character":  {[]string{"motdépassé"}, "<motd\uFFFDpass\uFFFD>", "<***>"},
		"one-mark-a-byte":       {[]string{"motdépassé"}, "<motd\uFFFD\uFFFDpass\uFFFD\uFFFD>", "<***>"},
		"question-marks":        {[]string{"motdépassé"}, "<motd?pass?>", "<***>"},
		"escaped-marks":         {[]string{"motdépassé"}, `<motd\ufffdpass%EF%BF%BD>`, "<***>"},
		"first":                 {[]string{"éclair"}, "<\uFFFDclair>", "<***>"},
		"question-mark-first":   {[]string{"éclair"}, "<?clair>", "<***>"},
		"one-lost-one-escaped":  {[]string{"motdépassé"}, "<motd?pass&#233;>", "<***>"},
		"raw-latin-1":           {[]string{"motdépassé"}, "<motd\xe9pass\xe9>", "<***>"},
		"percent-latin-1":       {[]string{"motdépassé"}, "<motd%E9pass%e9>", "<***>"},
		"windows-1252":          {[]string{"prix: 5€ net"}, "<prix: 5â‚¬ net>", "<***>"},
		"read-twice-as-latin-1": {[]string{"motdépassé"}, "<motdÃ\u0083Â©passÃ\u0083Â©>", "<***>"},
		"latin-1-that-is-utf-8": {[]string{"12Ã©34"}, "<12é34>", "<***>"},
		"nothing-else":          {[]string{"密码密码"}, "<????\uFFFD\uFFFD\uFFFD\uFFFD>", "<????\uFFFD\uFFFD\uFFFD\uFFFD>"},
		"plus-for-a-space":      {[]string{"two words"}, "<two+words>", "<***>"},
		"space-first":           {[]string{" two words"}, "<+two+words>", "<***>"},
		"too-few-digits":        {[]string{"ab\x04xyz"}, "<ab%4xyz>", "<ab%4xyz>"},
		"last-character":        {[]string{"s3cr3t\U0010FFFF"}, "<s3cr3t&#x10FFFF;><s3cr3t%F4%8F%BF%BF>", "<***><***>"},
		"octal-and-utf-16":      {[]string{"s3cr3t?\U00010000"}, `<s3cr3t\77\ud800\udc00>`, "<***>"},
		"plus-is-not-a-space":   {[]string{"two+words"}, "<two words>", "<two words>"},
	} {
		procapitest.WantEqual(t, name, test.want, newRedactor(test.secrets...).text(test.text))
	}
}

// Encodings in which servers and their pages may quote a secret, or a text with a secret in it.
func TestRedactor_encodings(t *testing.T) {
	t.Parallel()
	const secret, ascii = `canary"<&>+/'\é%tail`, `canary\"<&>+/'\\\u00e9%tail`
	page := func(text string, escapes ...string) string {
		return strings.NewReplacer(escapes...).Replace(html.EscapeString(text))
	}
	std := base64.StdEncoding.EncodeToString
	for name, text := range map[string]string{
		"json-ascii":     ascii,
		"json-upper":     `canary\"\u003C\u0026\u003E+/'\\é%tail`,
		"json-php":       strings.ReplaceAll(ascii, "/", `\/`),
		"json-in-json":   strconv.Quote(ascii),
		"python-page":    page(secret, "&#34;", "&quot;", "&#39;", "&#x27;"),
		"slash-page":     page(secret, "&#34;", "&quot;", "&#39;", "&#x27;", "/", "&#x2F;"),
		"plus-page":      page(secret, "+", "&#43;"),
		"page-of-json":   page(ascii),
		"path-escaped":   url.PathEscape(secret),
		"lower-escaped":  strings.NewReplacer("%2F", "%2f", "%3C", "%3c", "%3E", "%3e", "%2B", "%2b", "%5C", "%5c", "%C3%A9", "%c3%a9").Replace(url.QueryEscape(secret)),
		"twice-escaped":  url.QueryEscape(url.QueryEscape(secret)),
		"hex":            hex.EncodeToString([]byte(secret)),
		"upper-hex":      fmt.Sprintf("%X", secret),
		"base64-at-1":    std([]byte("1" + secret + "2")),
		"base64-at-2":    base64.URLEncoding.EncodeToString([]byte("12" + secret + "3")),
		"base64-of-json": std([]byte(ascii)),
		"base64-of-go":   std([]byte(`canary\"<&>+/'\\é%tail`)),
		"base64-escaped": std([]byte(`canary\"\u003c\u0026\u003e+/'\\é%tail`)),
	} {
		// At its ends, base64 also depends on what is beside the secret.
		got := newRedactor(secret).text("<" + text + ">")
		procapitest.Check(t, strings.Contains(got, "***") && len(got) <= len("<MWNh***LT4=>"), "%s: got %q of %q", name, got, text)
	}
}

var ways = []func(char rune) string{
	func(char rune) string { return string(char) },
	func(char rune) string { return octets("%%%02X", char) },
	func(char rune) string { return octets("%%%02x", char) },
	func(char rune) string { return octets(`\x%02x`, char) },
	func(char rune) string { return octets(`\%03o`, char) },
	func(char rune) string { return octets("&#%d;", char) },
	func(char rune) string { return octets(`\u%04X`, char) },
	func(char rune) string { return fmt.Sprintf("&#%d;", char) },
	func(char rune) string { return fmt.Sprintf("&#0%d;", char) },
	func(char rune) string { return fmt.Sprintf("&#x%x;", char) },
	func(char rune) string { return fmt.Sprintf("&#X%06X;", char) },
	func(char rune) string { return fmt.Sprintf(`\U%08x`, char) },
	func(char rune) string {
		var units strings.Builder
		for _, unit := range utf16.Encode([]rune{char}) {
			fmt.Fprintf(&units, `\u%04x`, unit)
		}
		return units.String()
	},
	func(char rune) string {
		if named, ok := map[rune]string{'"': "&quot;", '\'': "&apos;", '&': "&amp;", '<': "&lt;", '>': "&gt;"}[char]; ok {
			return named
		}
		return string(char)
	},
	func(char rune) string {
		if strings.ContainsRune(`"'/\`, char) {
			return `\` + string(char)
		}
		return string(char)
	},
	func(char rune) string { // read as Latin-1
		var runes strings.Builder
		for _, octet := range []byte(string(char)) {
			runes.WriteRune(rune(octet))
		}
		return runes.String()
	},
}

// octets spells each byte of a character in UTF-8.
func octets(form string, char rune) string {
	var text strings.Builder
	for _, octet := range []byte(string(char)) {
		fmt.Fprintf(&text, form, octet)
	}
	return text.String()
}

// around are ways to quote a whole text in another one.
var around = []func(string) string{
	func(s string) string { return s },
	func(s string) string { return quoteJSON(s, true) },
	html.EscapeString,
	url.QueryEscape,
	url.PathEscape,
	quoteASCII,
}

// spellBy spells each character in its own way, by the choices.
func spellBy(choices []byte, secret string) string {
	var text strings.Builder
	i := 0
	for _, char := range secret {
		way := 0
		if len(choices) > 0 {
			way = int(choices[i%len(choices)])
		}
		text.WriteString(ways[way%len(ways)](char))
		i++
	}
	return text.String()
}

// In each spelling, the whole secret and nothing else is removed, even if its text is quoted again.
func TestRedactor_spellings(t *testing.T) {
	t.Parallel()
	const secret = `s3c"<&>+/'\é%41中😀ret`
	redact := newRedactor(secret)
	for i := range 256 {
		// The first texts use one way for all characters, the others two or more.
		choices := []byte{byte(i)}
		if i >= len(ways) {
			choices = []byte{byte(i), byte(i / 3), byte(i / 7), byte(i / 11), 0}
		}
		for j, quote := range around {
			text := "<" + quote(spellBy(choices, secret)) + ">"
			procapitest.WantEqual(t, fmt.Sprintf("%v in %d of %q", choices, j, text), "<***>", redact.text(text))
		}
	}
}

func FuzzRedactor(f *testing.F) {
	f.Add("s3cr3t", `{"bk_app_secret":"`, `"}`, []byte{0})
	f.Add("a/b+c=d%", "https://u:pw@proxy/?q=", "&x", []byte{1, 2})
	f.Add("***", "**", "*", []byte{3})
	f.Add("aaaa", "a", "aa", []byte{4, 5, 0})
	f.Add(`\x41\u0041é`, `\`, "%", []byte{14, 0, 6})
	f.Fuzz(func(t *testing.T, secret, before, after string, choices []byte) {
		// Characters of the replacement cannot be distinguished from it.
		if len(secret) < minSecretLen || strings.ContainsAny(secret, "*\uFFFD") || !utf8.ValidString(secret) {
			t.Skip()
		}
		redact := newRedactor(secret)
		for _, quote := range around {
			spelling := quote(spellBy(choices, secret))
			if strings.Contains(spelling, "*") {
				continue
			}
			clean := redact.text(before + spelling + after)
			procapitest.Check(t, !strings.Contains(clean, spelling) && !strings.Contains(clean, secret), "%q, spelt %q, is in %q", secret, spelling, clean)
		}
		for _, form := range encodedForms(secret) {
			if clean := redact.text(before + form + after); len(form) >= minSecretLen && strings.Contains(clean, form) {
				t.Errorf("%q is in %q", form, clean)
			}
		}
	})
}
