// Package canary holds secrets for tests that look for them afterwards in everything that
// was printed, logged or kept in state.
package canary

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// The secrets are found again wherever they end up. Each begins and ends with letters
// that no text encoding changes, and has between them characters that encodings do
// change.
const (
	Begin = "CanaryQ"
	end   = "Zyranac"

	Secret      = Begin + `1"<&>+/\é%` + end
	Token       = Begin + `2"<&>+/\é%` + end
	AccessToken = Begin + `3"<&>+/\é%` + end

	// Witness is no secret. It goes wherever the secrets go: a text without it was not
	// looked at.
	Witness = "WitnessQ"
)

// traces returns what a word leaves in a text: itself, or a part of its encoding.
func traces(word string) []string {
	found := []string{word, hex.EncodeToString([]byte(word)), fmt.Sprintf("%X", word)}
	for before := range 3 {
		// Without the characters that also encode what stands beside the word.
		encoded := base64.RawStdEncoding.EncodeToString([]byte("xxx"[:before] + word))
		found = append(found, encoded[[]int{0, 2, 3}[before]:(before+len(word))*8/6])
	}
	return found
}

// In returns the places of a text that hold a piece of a secret, quoted with what stands
// around them; none if the text is clean.
func In(text string) []string {
	var found []string
	for _, trace := range append(traces(Begin), traces(end)...) {
		if at := strings.Index(text, trace); at >= 0 {
			found = append(found, strconv.Quote(text[max(0, at-80):min(len(text), at+80)]))
		}
	}
	return found
}
