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

// urlPassword matches the user part of a URL: net/http quotes the proxy's URL
// when it cannot use it.
var urlPassword = regexp.MustCompile(`://[^/@\s"]+@`)

// secretMember matches a quoted member of the credentials, with any value. A secret that was echoed only
// in part, or in an unknown spelling, cannot be found by its value. Text without quotes is prose
// ("bk_token: is not valid").
var secretMember = regexp.MustCompile(`((?:` + strings.Join(secretMembers, "|") + `)` + quotes + `\s*(?:[:=]|%3A)\s*` + quotes + `)` + cutValue)

// cutValue ends with the value, or with the text if that was cut.
const cutValue = `(?:[^,}\s"'&\\]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&(?:lt|gt|amp|#[0-9]+|#[xX][0-9a-fA-F]+);)+`

// secretMembers are the ends of the names of secret members.
var secretMembers = []string{"app_secret", "bk_token", "access_token"}

// quotes are the quotes of JSON, of JSON within JSON, of Python, of HTML and of a URL.
const quotes = `(?i:\\*["']|&(?:quot|apos|#0*3[49]|#x0*2[27]);|(?:%|\\x|\\u00)2[27])`

// redactor removes the credentials of one client from any text. Servers echo what they were sent (a debug
// page, a validation error that quotes the body), and net/http quotes servers.
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

// latin1AsUTF8 is a Latin-1 text read as UTF-8, where two of its characters look like one. The other
// characters beyond ASCII are lost one by one.
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

// text returns a foreign text that is safe to display: without secrets, and printable.
func (r redactor) text(s string) string {
	s = r.withoutSecrets(s)
	// Invisible characters may be inside a secret, or part of its spelling. So secrets are removed before
	// and after invisible characters.
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

// error returns err itself if its text has no secret. Otherwise it returns only the redacted text: a
// chain that is unwrapped and printed would show the secret again.
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

// cut shortens s to at most n bytes, without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}

	return s[:n] + "…"
}

// NewRedactor removes secrets from any text, in any encoding, and makes it printable, as a [Client] does
// with its own credentials.
func NewRedactor(secrets ...string) func(string) string {
	return newRedactor(secrets...).text
}
