package bkapi

import (
	"errors"
	"testing"
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
