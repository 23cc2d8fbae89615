package bkapi

import (
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// redacted stands where a secret was.
const redacted = "***"

// minSecretLen is the length from which a secret is looked for. Anything shorter
// would be found in the middle of ordinary words.
const minSecretLen = 4

// urlPassword matches the user part of a URL: net/http quotes the proxy's URL
// when it cannot use it.
var urlPassword = regexp.MustCompile(`://[^/@\s"]+@`)

// redactor takes the credentials of one client out of any text. Servers echo what
// they were sent (a debug page, a validation error that quotes the body), and
// net/http quotes what servers sent.
type redactor struct {
	replacer *strings.Replacer
}

func newRedactor(secrets ...string) redactor {
	var spellings []string
	for _, secret := range secrets {
		if len(secret) >= minSecretLen {
			spellings = append(spellings, spellingsOf(secret)...)
		}
	}

	// The longest first: a secret may begin with another one, and the replacer
	// takes the first that fits.
	slices.SortFunc(spellings, func(a, b string) int { return len(b) - len(a) })

	var pairs []string
	for _, spelling := range slices.Compact(spellings) {
		pairs = append(pairs, spelling, redacted)
	}

	return redactor{replacer: strings.NewReplacer(pairs...)}
}

// spellingsOf returns the forms in which a server may echo a secret.
func spellingsOf(secret string) []string {
	spellings := []string{
		secret,
		url.QueryEscape(secret),
		url.PathEscape(secret),
		html.EscapeString(secret),
	}

	for _, escapeHTML := range []bool{true, false} {
		// As our own JSON has it, and as Python's does, which is all ASCII.
		for _, quoted := range []string{quoteJSON(secret, escapeHTML), quoteASCII(secret)} {
			// A request that is echoed whole is itself a string in the answer.
			spellings = append(spellings, quoted, quoteJSON(quoted, escapeHTML))
		}
	}

	return spellings
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

// text returns s without secrets.
func (r redactor) text(s string) string {
	return urlPassword.ReplaceAllString(r.replacer.Replace(s), "://"+redacted+"@")
}

// error returns err itself when its text is clean, and otherwise the clean text
// alone: a chain that is unwrapped and printed would show the secret again.
func (r redactor) error(err error) error {
	if err == nil {
		return nil
	}

	text := err.Error()
	if clean := r.text(text); clean != text {
		return errors.New(clean)
	}

	return err
}

// oneLine puts s on one line without control characters.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return ' '
		}

		return r
	}, s)

	return strings.Join(strings.Fields(s), " ")
}

// cut shortens s to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}

	return s[:n] + "…"
}
