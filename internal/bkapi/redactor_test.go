package bkapi

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRedactor_text(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		secrets []string
		text    string
		want    string
	}{
		"plain":           {[]string{"s3cr3t"}, "got s3cr3t, s3cr3t", "got ***, ***"},
		"longest-first":   {[]string{"s3cr3t", "s3cr3t-and-more"}, "got s3cr3t-and-more", "got ***"},
		"none":            {[]string{"", ""}, "as it is", "as it is"},
		"too-short":       {[]string{"is"}, "as it is", "as it is"},
		"password-of-url": {nil, `invalid proxy address "http://u:pw@proxy:3128"`, `invalid proxy address "http://***@proxy:3128"`},
		"address-of-host": {nil, "http://proxy:3128/?a=b@c", "http://proxy:3128/?a=b@c"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := newRedactor(test.secrets...).text(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRedactor_errorKeepsCleanChain(t *testing.T) {
	t.Parallel()

	cause := errors.New("clean")
	if got := newRedactor("s3cr3t").error(cause); !errors.Is(got, cause) {
		t.Errorf("the chain of %v is lost", got)
	}
}

// However a text goes on around it, a secret does not stay in it.
func FuzzRedactor(f *testing.F) {
	f.Add("s3cr3t", `{"bk_app_secret":"`, `"}`)
	f.Add("a/b+c=d%", "https://u:pw@proxy/?q=", "&x")
	f.Add("***", "**", "*")
	f.Add("aaaa", "a", "aa")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		// Whatever the mark of what was taken out has in it cannot be told from it.
		if len(secret) < minSecretLen || strings.Contains(secret, "*") || !utf8.ValidString(secret) {
			t.Skip()
		}
		redact := newRedactor(secret)
		for _, spelling := range append(spellingsOf(secret), secret) {
			if clean := redact.text(before + spelling + after); strings.Contains(clean, secret) {
				t.Errorf("%q is in %q", secret, clean)
			}
		}
	})
}
