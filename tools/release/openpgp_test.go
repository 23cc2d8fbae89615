package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSign(t *testing.T) {
	dir := t.TempDir()
	ours, other, signed, signature := filepath.Join(dir, "ours"), filepath.Join(dir, "other"), filepath.Join(dir, "sums"), filepath.Join(dir, "sums.sig")
	for _, key := range []string{ours, other} {
		if err := makeKey(key); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(signed, []byte("of a release"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SIGNING_KEY_FILE", ours+".pub")
	if err := sign(signed, signature); err == nil {
		t.Error("a public key should not sign")
	}
	t.Setenv("SIGNING_KEY_FILE", ours)
	if err := sign(signed, signature); err != nil {
		t.Fatal(err)
	}
	if err := verify(ours+".pub", signed, signature); err != nil {
		t.Error(err)
	}
	if err := verify(other+".pub", signed, signature); err == nil {
		t.Error("another key should not have signed it")
	}
	if err := os.WriteFile(signed, []byte("of another release"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verify(ours+".pub", signed, signature); err == nil {
		t.Error("another content should not be signed")
	}
}
