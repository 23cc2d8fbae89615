package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// registry is the part of an origin registry that an installation uses.
type registry struct {
	release
	url, key string
	forged   bool // the checksums differ from the signed ones
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	archive := "terraform-provider-bk_" + r.version + "_" + r.platform + ".zip"
	sums := "terraform-provider-bk_" + r.version + "_SHA256SUMS"
	goos, goarch, _ := strings.Cut(r.platform, "_")
	switch path := req.URL.Path; path {
	case "/.well-known/terraform.json":
		answer(w, map[string]any{"providers.v1": "/v1/providers/"})
	case "/v1/providers/blueking/bk/versions":
		answer(w, map[string]any{"versions": []any{map[string]any{
			"version": r.version, "protocols": []string{"6.0"}, "platforms": []any{map[string]any{"os": goos, "arch": goarch}},
		}}})
	case "/v1/providers/blueking/bk/" + r.version + "/download/" + goos + "/" + goarch:
		content, _ := os.ReadFile(filepath.Join(r.dist, archive))
		answer(w, map[string]any{
			"protocols": []string{"6.0"}, "os": goos, "arch": goarch, "filename": archive, "shasum": fmt.Sprintf("%x", sha256.Sum256(content)),
			"download_url": r.url + "/" + archive, "shasums_url": r.url + "/" + sums, "shasums_signature_url": r.url + "/" + sums + ".sig",
			"signing_keys": map[string]any{"gpg_public_keys": []any{map[string]any{"key_id": "rehearsal", "ascii_armor": r.key}}},
		})
	case "/" + archive, "/" + sums, "/" + sums + ".sig":
		content, err := os.ReadFile(filepath.Join(r.dist, path[1:]))
		if err != nil {
			http.NotFound(w, req)
			return
		}
		if r.forged && path == "/"+sums {
			content = append(content, '\n')
		}
		_, _ = w.Write(content)
	default:
		http.NotFound(w, req)
	}
}
