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

// urlPassword matches the user part of a URL: net/http quotes the proxy's URL
// when it cannot use it.
var urlPassword = regexp.MustCompile(`://[^/@\s"]+@`)

// secretMember matches a quoted member of the credentials, whatever its value. An echo that was
// cut, or has an unknown spelling, holds no secret that could be found in it. Text without quotes
// is prose ("bk_token: is not valid").
var secretMember = regexp.MustCompile(`((?:` + strings.Join(secretMembers, "|") + `)` + quotes + `\s*(?:[:=]|%3A)\s*` + quotes + `)` + cutValue)

// cutValue ends where a value does, or a text that has none of its end.
const cutValue = `(?:[^,}\s"'&\\]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&(?:lt|gt|amp|#[0-9]+|#[xX][0-9a-fA-F]+);)+`

// secretMembers are how the names of the credentials' secrets end.
var secretMembers = []string{"app_secret", "bk_token", "access_token"}

// quotes are those of a JSON text, of one within another, of Python, of a page and
// of a URL.
const quotes = `(?i:\\*["']|&(?:quot|apos|#0*3[49]|#x0*2[27]);|(?:%|\\x|\\u00)2[27])`

// redactor takes the credentials of one client out of any text. Servers echo what
// they were sent (a debug page, a validation error that quotes the body), and
// net/http quotes what servers sent.
type redactor struct {
	secrets *secrets
}

func newRedactor(credentials ...string) redactor {
	var texts []string
	for _, credential := range credentials {
		if len(credential) >= minSecretLen {
			texts = append(texts, credential, latin1AsUTF8(credential))
			texts = append(texts, encodedForms(credential)...)
		}
	}

	return redactor{secrets: newSecrets(texts)}
}

// latin1AsUTF8 is what becomes of a text that was sent in Latin-1 and read as UTF-8,
// where two of its characters look like one. What they do not is lost one by one.
func latin1AsUTF8(s string) string {
	bytes := make([]byte, 0, len(s))
	for _, char := range s {
		octet, ok := octetOf(char)
		if !ok {
			return s
		}
		bytes = append(bytes, octet)
	}

	return strings.ToValidUTF8(string(bytes), "\uFFFD")
}

// text returns what somebody else said as it may be shown: without secrets, and
// printable.
func (r redactor) text(s string) string {
	s = r.withoutSecrets(s)
	// Invisible characters may have been within a secret, or part of its spelling. So it is looked
	// for before and after their removal.
	if clean := Printable(s); clean != s {
		return r.withoutSecrets(clean)
	}

	return s
}

// withoutSecrets returns s without secrets.
func (r redactor) withoutSecrets(s string) string {
	s = r.secrets.replace(s, redacted)
	if slices.ContainsFunc(secretMembers, func(name string) bool { return strings.Contains(s, name) }) {
		s = secretMember.ReplaceAllString(s, "${1}"+redacted)
	}

	if !strings.Contains(s, "://") {
		return s
	}

	return urlPassword.ReplaceAllString(s, "://"+redacted+"@")
}

// error returns err itself if its text is clean, and otherwise only the clean text: a chain that is
// unwrapped and printed would show the secret again.
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

// NewRedactor takes secrets out of any text, in whatever encoding, and makes it printable, as a
// [Client] does with its own credentials.
func NewRedactor(secrets ...string) func(string) string {
	return newRedactor(secrets...).text
}
