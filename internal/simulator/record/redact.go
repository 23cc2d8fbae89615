package record

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
)

// credentialsHeader is the header whose secrets are removed.
const credentialsHeader = "X-Bkapi-Authorization"

var recordedHeaders = []string{
	"Accept-Language", "Blueking-Language", "Content-Type", "User-Agent",
	"X-Bk-Tenant-Id", "X-Bkapi-Request-Id", "X-Request-Id",
}

// PickHeader keeps the headers that clients set themselves.
func PickHeader(h http.Header) map[string]string {
	out := make(map[string]string)
	for _, name := range recordedHeaders {
		if v := h.Get(name); v != "" {
			out[name] = v
		}
	}
	if v := h.Get(credentialsHeader); v != "" {
		out[credentialsHeader] = string(Redact([]byte(v)))
	}
	return out
}

// secretNames are the members of a body that a record must not keep.
var secretNames = []string{"bk_app_secret", "app_secret", "bk_token", "access_token", "bk_ticket"}

// Redact replaces the secrets in a body. It returns nil for a body that cannot be parsed, because that may
// contain secrets anywhere.
func Redact(body []byte) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	for _, name := range secretNames {
		if _, found := members[name]; found {
			members[name] = json.RawMessage(`"***"`)
		}
	}
	out, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return out
}

// show decodes a body for display, with its secrets replaced at any depth. A body that is not JSON is
// shown as text.
func show(body []byte) any {
	if len(body) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil {
		return string(body[:min(len(body), shownText)])
	}
	return hide(tree)
}

// shownText is how many bytes of a text are displayed.
const shownText = 64 << 10

func hide(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for name, member := range tree {
			if slices.Contains(secretNames, name) {
				tree[name] = "***"
			} else {
				tree[name] = hide(member)
			}
		}
	case []any:
		for i, element := range tree {
			tree[i] = hide(element)
		}
	}
	return tree
}
