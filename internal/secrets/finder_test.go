package secrets

import (
	"archive/zip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/canary"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// echoes are spellings in which a platform may say back what it was sent, one of each kind. Tests of the package bkapi
// have all.
func echoes(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(quoted))
	python := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", "é", `\u00e9`).Replace(string(quoted))
	return map[string]string{
		"plain":        secret,
		"json-twice":   string(twice),
		"page":         "<html><body>" + html.EscapeString(secret) + "</body></html>",
		"page-python":  "<pre>" + strings.ReplaceAll(html.EscapeString(python), "&#34;", "&quot;") + "</pre>",
		"url-twice":    "q=" + url.QueryEscape(url.QueryEscape(secret)),
		"latin-1-read": strings.ReplaceAll(secret, "é", "\uFFFD"),
		"mixed":        mixed(secret),
		"base64-json":  base64.StdEncoding.EncodeToString([]byte(`{"bk_app_secret": ` + python + `}`)),
		"hex-upper":    fmt.Sprintf("%X", secret),
		"dump":         fmt.Sprintf(`{"bk_app_secret": %s, "bk_username": "admin"}`, python),
		"dump-cut-off": `{"bk_app_secret": "` + secret[:len(canary.Begin)+2],
	}
}

// mixed has each character in another spelling than the one before, except letters by
// which a canary is found.
func mixed(secret string) string {
	forms := []string{"&#%d;", `\u%04X`, "&#x%x;", `\U%08x`, "&#0%d;"}
	var text strings.Builder
	for i, char := range []rune(secret) {
		if i < len(canary.Begin) || strings.ContainsRune(canary.End, char) {
			text.WriteRune(char)
			continue
		}
		fmt.Fprintf(&text, forms[i%len(forms)], char)
	}
	return text.String()
}

// everythingIn reads a directory: every file, and every file in those that are zip
// archives, as plans are.
func everythingIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	read := func(name string, files fs.FS, path string) string {
		data, err := fs.ReadFile(files, path)
		providertest.NoError(t, err)
		texts[name] = string(data)
		return texts[name]
	}
	providertest.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data := read(path, os.DirFS(dir), path)
		archive, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
		if err != nil {
			return nil //nolint:nilerr // it is none
		}
		for _, member := range archive.File {
			read(path+"/"+member.Name, archive, member.Name)
		}
		return nil
	}))
	return texts
}

// The search can find what the tests of this file's users want not to be there.
func TestSecrets_areFoundInEverySpelling(t *testing.T) {
	t.Parallel()
	for name, echo := range echoes(canary.Secret) {
		if len(canary.In("some text"+echo+"and more")) == 0 {
			t.Errorf("not found as %s: %s", name, echo)
		}
	}
}
