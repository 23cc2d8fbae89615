package bkapi

import (
	"errors"
	"regexp"
	"slices"
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

// secretMember matches a quoted member of the credentials, whatever its value: an
// echo that was cut short, or is spelt as nobody foresaw, holds no secret that could
// be found in it. What is not quoted is prose ("bk_token: is not valid").
var secretMember = regexp.MustCompile(`((?:` + strings.Join(secretMembers, "|") + `)` + quotes + `\s*(?:[:=]|%3A)\s*` + quotes + `)` + cutValue)

// cutValue ends where a value does, or a text that has none of its end.
const cutValue = `(?:[^,}\s"'&\\]|\\u[0-9a-fA-F]{4}|&(?:lt|gt|amp);)+`

// secretMembers are how the names of the credentials' secrets end.
var secretMembers = []string{"app_secret", "bk_token", "access_token"}

// quotes are those of a JSON text, of one within another, of Python, of a page and
// of a URL.
const quotes = `(?:\\*["']|&quot;|&#34;|&#39;|&#x27;|%22)`

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
	for _, spelling := range spellings {
		pairs = append(pairs, spelling, redacted)
	}

	return redactor{replacer: strings.NewReplacer(pairs...)}
}

// text returns s without secrets.
func (r redactor) text(s string) string {
	s = r.replacer.Replace(s)
	if slices.ContainsFunc(secretMembers, func(name string) bool { return strings.Contains(s, name) }) {
		s = secretMember.ReplaceAllString(s, "${1}"+redacted)
	}

	return urlPassword.ReplaceAllString(s, "://"+redacted+"@")
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
