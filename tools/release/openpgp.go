package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// makeKey writes an untrusted key for rehearsals. It is of type RSA, as the registries require.
func makeKey(name string) error {
	key, err := openpgp.NewEntity("terraform-provider-bk rehearsal", "not a release", "nobody@example.com",
		&packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 3072})
	if err != nil {
		return err
	}
	private, err := armored(openpgp.PrivateKeyType, func(w io.Writer) error { return key.SerializePrivate(w, nil) })
	if err != nil {
		return err
	}
	public, err := armored(openpgp.PublicKeyType, key.Serialize)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, private, 0o600); err != nil {
		return err
	}
	return os.WriteFile(name+".pub", public, 0o644)
}

func armored(kind string, serialize func(io.Writer) error) ([]byte, error) {
	var text bytes.Buffer
	w, err := armor.Encode(&text, kind, nil)
	if err != nil {
		return nil, err
	}
	if err := serialize(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// sign writes a detached, binary signature, as the registries require.
func sign(name, signature string) error {
	keys, err := readKeys(os.Getenv("SIGNING_KEY_FILE"))
	if err != nil {
		return fmt.Errorf("SIGNING_KEY_FILE: %w", err)
	}
	key := keys[0]
	if key.PrivateKey == nil {
		return fmt.Errorf("%s holds no private key", os.Getenv("SIGNING_KEY_FILE"))
	}
	if err := key.DecryptPrivateKeys([]byte(os.Getenv("SIGNING_PASSPHRASE"))); err != nil {
		return fmt.Errorf("SIGNING_PASSPHRASE: %w", err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var signed bytes.Buffer
	if err := openpgp.DetachSign(&signed, key, bytes.NewReader(content), nil); err != nil {
		return err
	}
	return os.WriteFile(signature, signed.Bytes(), 0o644)
}

func verify(key, name, signature string) error {
	keys, err := readKeys(key)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	signed, err := os.ReadFile(signature)
	if err != nil {
		return err
	}
	_, err = openpgp.CheckDetachedSignature(keys, bytes.NewReader(content), bytes.NewReader(signed), nil)
	return err
}

func readKeys(name string) (openpgp.EntityList, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return openpgp.ReadArmoredKeyRing(file)
}
