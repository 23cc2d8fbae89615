package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestSign(t *testing.T) {
	dir := t.TempDir()
	ours, other, signed, signature := filepath.Join(dir, "ours"), filepath.Join(dir, "other"), filepath.Join(dir, "sums"), filepath.Join(dir, "sums.sig")
	refused := func(why string, err error) {
		t.Helper()
		if err == nil {
			t.Error(why)
		}
	}
	fine(t, errors.Join(makeKey(ours), makeKey(other), os.WriteFile(signed, []byte("of a release"), 0o600)))
	t.Setenv("SIGNING_KEY_FILE", ours+".pub")
	refused("a public key should not sign", sign(signed, signature))
	t.Setenv("SIGNING_KEY_FILE", ours)
	fine(t, errors.Join(sign(signed, signature), verify(ours+".pub", signed, signature)))
	refused("another key should not have signed it", verify(other+".pub", signed, signature))
	fine(t, os.WriteFile(signed, []byte("of another release"), 0o600))
	refused("another content should not be signed", verify(ours+".pub", signed, signature))
}
