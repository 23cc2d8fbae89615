package simulator

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
)

// requestID returns the client's id of a request, or a new one.
func requestID(r *http.Request) string {
	for _, name := range []string{"X-Bkapi-Request-Id", "X-Request-Id"} {
		if id := r.Header.Get(name); id != "" {
			return id
		}
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}
