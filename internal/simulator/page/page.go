// Package page serves the simulator's page for a browser at /: the fleet, the calls and the faults, live.
// It is one file that loads nothing else and contains no secret. The page takes the secret from its link
// or from the user, keeps it for the tab, and sends it to the control endpoint.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
)

//go:embed page.html
var html []byte

// policy lets the page run only its own script and connect only to its own origin.
var policy = fmt.Sprintf(
	"default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	hash("<script>", "</script>"), hash("<style>", "</style>"),
)

// hash returns the policy's hash of the text between two tags.
func hash(begin, end string) string {
	_, after, _ := bytes.Cut(html, []byte(begin))
	inside, _, _ := bytes.Cut(after, []byte(end))
	sum := sha256.Sum256(inside)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Serve answers with the page.
func Serve(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	_, _ = w.Write(html)
}
