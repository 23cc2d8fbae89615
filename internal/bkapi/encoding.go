package bkapi

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	json "github.com/go-json-experiment/json/v1"
)

// encodedForms returns a secret in base64 and in hexadecimal, both by itself and as part of a JSON text. Unlike
// escapes, these encodings cannot be decoded character by character.
func encodedForms(secret string) []string {
	var forms []string
	for _, text := range append(jsonForms(secret), secret) {
		forms = append(forms, base64Forms(text)...)
		dump := hex.EncodeToString([]byte(text))
		forms = append(forms, dump, strings.ToUpper(dump))
	}

	return forms
}

// escapedRune matches a character that JSON writes as a number.
var escapedRune = regexp.MustCompile(`\\u[0-9a-fA-F]{4}`)

// jsonForms returns the spellings of s inside a JSON string. Go writes it with or without escapes for HTML, and
// Python in ASCII only. Either may use upper or lower case in hexadecimal numbers. PHP escapes slashes.
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

// base64Forms returns the base64 characters that depend on s alone. They differ in each of the three positions
// at which s may begin, and in the two alphabets.
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

// quoteJSON returns s as it appears inside a JSON string.
func quoteJSON(s string, escapeHTML bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	if err := encoder.Encode(s); err != nil {
		return s
	}

	return unquote(strings.TrimSuffix(b.String(), "\n"))
}

// quoteASCII returns s as it appears inside a JSON string that is ASCII only.
func quoteASCII(s string) string {
	return unquote(strconv.QuoteToASCII(s))
}

func unquote(s string) string {
	return s[1 : len(s)-1]
}
