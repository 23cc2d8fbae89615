package bkapi

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// redacted replaces a secret.
const redacted = "***"

// urlPassword matches the user part of a URL. net/http quotes the URL of a proxy that it cannot use.
var urlPassword = regexp.MustCompile(`://[^/@\s"]+@`)

// secretMember matches a quoted member of the credentials with any value. A secret that was echoed only in
// part, or in an unknown spelling, cannot be found by its value. Text without quotes is prose ("bk_token: is
// not valid").
var secretMember = regexp.MustCompile(`((?:` + strings.Join(secretMembers, "|") + `)` + quotes + `\s*(?:[:=]|%3A)\s*` + quotes + `)` + cutValue)

// cutValue matches up to the end of the value, or of the text if that was cut.
const cutValue = `(?:[^,}\s"'&\\]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&(?:lt|gt|amp|#[0-9]+|#[xX][0-9a-fA-F]+);)+`

// secretMembers holds the ends of the names of secret members.
var secretMembers = []string{"app_secret", "bk_token", "access_token"}

// quotes matches the quotes of JSON, of JSON within JSON, of Python, of HTML and of a URL.
const quotes = `(?i:\\*["']|&(?:quot|apos|#0*3[49]|#x0*2[27]);|(?:%|\\x|\\u00)2[27])`

// redactor removes the credentials of one client from any text. Servers echo what they receive, in a debug page
// or in a validation error that quotes the body, and net/http quotes servers.
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

// latin1AsUTF8 returns a Latin-1 text read as UTF-8, in which two of its characters may look like one. Other
// characters beyond ASCII are each lost.
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

// text returns a text of other origin in a form that is safe to display: without secrets, and printable.
func (r redactor) text(s string) string {
	s = r.withoutSecrets(s)
	// Invisible characters may be inside a secret, or part of its spelling. So secrets are removed both before
	// and after invisible characters are.
	if clean := Printable(s); clean != s {
		return r.withoutSecrets(clean)
	}

	return s
}

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

// error returns err itself if its text has no secret, and otherwise only the redacted text. Unwrapping and
// printing the chain would show the secret again.
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

func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return ' '
		}

		return r
	}, s)

	return strings.Join(strings.Fields(s), " ")
}

// cut returns at most n bytes of s and an ellipsis, without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}

	return s[:n] + "…"
}

// NewRedactor returns a function that removes secrets from any text, in any encoding, and makes it printable. A
// [Client] does the same with its own credentials.
func NewRedactor(secrets ...string) func(string) string {
	return newRedactor(secrets...).text
}
