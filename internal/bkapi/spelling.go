package bkapi

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// spellingsOf returns the forms in which a server may echo a secret. A request that
// is echoed whole is itself a text in the answer, and so is encoded twice; and where
// the answer is quoted as it came, three times. Of a secret of letters and digits most
// forms are the secret itself.
func spellingsOf(secret string) []string {
	spellings := make(map[string]bool)
	add := func(forms ...string) {
		for _, form := range forms {
			spellings[form] = len(form) >= minSecretLen
		}
	}

	for _, once := range append(jsonForms(secret), secret) {
		add(once)
		add(jsonForms(once)...)
		add(htmlForms(once)...)
		add(urlForms(once)...)
		add(base64Forms(once)...)
		dump := hex.EncodeToString([]byte(once))
		add(dump, strings.ToUpper(dump))
	}
	for _, twice := range slices.Collect(maps.Keys(spellings)) {
		add(quoteJSON(twice, true), quoteJSON(twice, false))
	}
	maps.DeleteFunc(spellings, func(_ string, long bool) bool { return !long })

	return slices.Collect(maps.Keys(spellings))
}

// escapedRune is a character that JSON has by its number, escapedByte one that a
// URL has so.
var (
	escapedRune = regexp.MustCompile(`\\u[0-9a-fA-F]{4}`)
	escapedByte = regexp.MustCompile(`%[0-9A-F]{2}`)
)

// jsonForms are s as it stands between the quotes of a JSON string: as Go writes
// it, with and without care for HTML, as Python does, which is all ASCII, each with
// numbers in either case, and as PHP does, which escapes slashes.
func jsonForms(s string) []string {
	var forms []string
	for _, form := range []string{quoteJSON(s, true), quoteJSON(s, false), quoteASCII(s)} {
		upper := escapedRune.ReplaceAllStringFunc(form, func(number string) string {
			return `\u` + strings.ToUpper(number[2:])
		})
		for _, either := range []string{form, upper} {
			forms = append(forms, either, strings.ReplaceAll(either, "/", `\/`))
		}
	}

	return forms
}

// htmlForms are s in a page: as Go writes it, as Python does, and as those do who
// escape whatever could end an attribute.
func htmlForms(s string) []string {
	escaped := html.EscapeString(s)

	return []string{
		escaped,
		strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;").Replace(escaped),
		strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;", "/", "&#x2F;").Replace(escaped),
		strings.NewReplacer("+", "&#43;").Replace(escaped),
	}
}

// urlForms are s in a query, in a path, and in a URL that is itself in a query.
func urlForms(s string) []string {
	var forms []string
	for _, form := range []string{url.QueryEscape(s), url.PathEscape(s), url.QueryEscape(url.QueryEscape(s))} {
		forms = append(forms, form, escapedByte.ReplaceAllStringFunc(form, strings.ToLower))
	}

	return forms
}

// base64Forms are those characters of a base64 text that s alone decides, for each
// of the three places at which it may begin, in either alphabet.
func base64Forms(s string) []string {
	var forms []string
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + s))
		first := (before*8 + 5) / 6
		last := (before + len(s)) * 8 / 6
		if first < last {
			core := encoded[first:last]
			forms = append(forms, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
		}
	}

	return forms
}

// quoteJSON returns s as it stands between the quotes of a JSON string.
func quoteJSON(s string, escapeHTML bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	if err := encoder.Encode(s); err != nil {
		return s
	}

	return unquote(strings.TrimSuffix(b.String(), "\n"))
}

// quoteASCII returns s as it stands between the quotes of an ASCII-only string.
func quoteASCII(s string) string {
	return unquote(strconv.QuoteToASCII(s))
}

// unquote takes off the quotes around s, and nothing else.
func unquote(s string) string {
	return s[1 : len(s)-1]
}
