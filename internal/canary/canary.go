// Package canary has secrets that tests plant, and finds them again in whatever came out.
package canary

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// Canaries are secrets that are found again wherever they get to. Each begins and
// ends with letters that no encoding of text changes, and has what encodings do
// change between them.
const (
	Begin = "CanaryQ"
	End   = "Zyranac"

	Secret      = Begin + `1"<&>'+/\é%` + End
	Token       = Begin + `2"<&>'+/\é%` + End
	AccessToken = Begin + `3"<&>'+/\é%` + End

	// witness is no secret. It travels beside the canaries, and whatever it is not
	// found in has not been looked at.
	Witness = "WitnessQ"
)

// traces are what a word leaves in a text: itself, or a part of its encoding.
func traces(word string) []string {
	found := []string{word, hex.EncodeToString([]byte(word)), fmt.Sprintf("%X", word)}
	for before := range 3 {
		// Without the characters that also depend on what is beside the word.
		encoded := base64.RawStdEncoding.EncodeToString([]byte("xxx"[:before] + word))
		found = append(found, encoded[[]int{0, 2, 3}[before]:(before+len(word))*8/6])
	}
	return found
}

// escaped is a byte in the form of a URL, or of a text of Python's or of JSON.
var escaped = regexp.MustCompile(`(?:%|\\+x|\\+u00)[0-9a-fA-F]{2}`)

// plain is a text in which no letter is encoded.
func plain(text string) string {
	return escaped.ReplaceAllStringFunc(html.UnescapeString(text), func(spelt string) string {
		letter, err := hex.DecodeString(spelt[len(spelt)-2:])
		if err != nil {
			return spelt
		}
		return string(letter)
	})
}

// In returns where a text contains a piece of a canary.
func In(text string) []string {
	var found []string
	for _, text := range []string{text, plain(text), plain(plain(text))} {
		for _, trace := range append(traces(Begin), traces(End)...) {
			if at := strings.Index(text, trace); at >= 0 {
				found = append(found, strconv.Quote(text[max(0, at-80):min(len(text), at+80)]))
			}
		}
	}
	return found
}
