package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// FingerprintVersion is the prefix of all fingerprints of this canonical form. If the form changes, so must
// the version, or every host would seem to have changed.
const FingerprintVersion = "v1-"

// Fingerprint returns FingerprintVersion and the first 16 hexadecimal digits of the SHA-256 of the JSON
// object {"labels": {…}, "spec": {…}}, with both as the register call sends them. Object keys are sorted,
// there is no white space, absent fields are left out, and numbers have their shortest form. The labels do
// not include the fingerprint, and are {} if there are none.
func Fingerprint(spec any, labels map[string]string) (string, error) {
	if labels == nil {
		labels = map[string]string{}
	}
	encoded, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("encoding the spec: %w", err)
	}
	// A map sorts the keys of a struct. UseNumber keeps numbers as they are, because a float64 rounds large
	// ones.
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return "", fmt.Errorf("sorting the spec: %w", err)
	}
	canonical, err := json.Marshal(map[string]any{"labels": labels, "spec": fields})
	if err != nil {
		return "", fmt.Errorf("encoding the canonical form: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return FingerprintVersion + hex.EncodeToString(sum[:8]), nil
}
