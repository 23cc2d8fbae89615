package fleet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// FingerprintVersion begins every fingerprint of this canonical form. A change
// of the form needs a new version, or every host would look changed.
const FingerprintVersion = "v1-"

// Fingerprint is FingerprintVersion and the first 16 hexadecimal characters of a SHA-256 sum. The
// sum is that of the JSON object {"labels": {…}, "spec": {…}} as the register call sends it. Object
// keys are sorted, there is no white space, absent fields are left out, and numbers have their
// shortest form. The labels are without the fingerprint itself, {} if there are none.
func Fingerprint(spec any, labels map[string]string) (string, error) {
	if labels == nil {
		labels = map[string]string{}
	}
	encoded, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("encoding the spec: %w", err)
	}
	// Decoded into a map, because that sorts the keys of a struct. Numbers stay as they are
	// written, because a float64 rounds large ones.
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
