package secrets

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/canary"
)

// echoes are the spellings in which a platform may say back what it was sent.
func echoes(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(quoted))
	python := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", "é", `\u00e9`).Replace(string(quoted))
	repr := "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(secret) + "'"
	return map[string]string{
		"plain":        secret,
		"json":         string(quoted),
		"json-twice":   string(twice),
		"json-python":  python,
		"json-upper":   strings.NewReplacer(`\u003c`, `\u003C`, `\u003e`, `\u003E`).Replace(string(quoted)),
		"json-php":     strings.ReplaceAll(python, "/", `\/`),
		"json-all":     `"` + spelt(secret, `\u%04x`) + `"`,
		"page":         "<html><body>" + html.EscapeString(secret) + "</body></html>",
		"page-python":  "<pre>" + strings.ReplaceAll(html.EscapeString(python), "&#34;", "&quot;") + "</pre>",
		"page-apos":    "<pre>" + strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(html.EscapeString(secret)) + "</pre>",
		"page-decimal": "<pre>" + strings.NewReplacer("&lt;", "&#60;", "&gt;", "&#062;", "&amp;", "&#38;").Replace(html.EscapeString(secret)) + "</pre>",
		"page-hex":     "<pre>" + strings.NewReplacer("&lt;", "&#x3C;", "&gt;", "&#X3e;", "&amp;", "&#x026;").Replace(html.EscapeString(secret)) + "</pre>",
		"page-all":     "<pre>" + spelt(secret, "&#%03d;") + "</pre>",
		"page-all-hex": "<pre>" + spelt(secret, "&#X%X;") + "</pre>",
		"query":        "q=" + url.QueryEscape(secret),
		"query-lower":  "q=" + strings.NewReplacer("%2F", "%2f", "%3C", "%3c", "%3E", "%3e", "%2B", "%2b", "%5C", "%5c", "%C3%A9", "%c3%a9").Replace(url.QueryEscape(secret)),
		"path":         "/" + url.PathEscape(secret),
		"url-all":      "q=" + bytewise(secret, "%%%02X"),
		"url-all-low":  "q=" + bytewise(secret, "%%%02x"),
		"url-twice":    "q=" + url.QueryEscape(bytewise(secret, "%%%02X")),
		"python":       repr,
		"python-latin": strings.ReplaceAll(repr, "é", `\xe9`),
		"python-bytes": "b" + strings.ReplaceAll(repr, "é", `\xc3\xa9`),
		"python-all":   "'" + bytewise(secret, `\x%02x`) + "'",
		"mojibake":     strings.ReplaceAll(secret, "é", "Ã©"),
		"mojibake-esc": strings.ReplaceAll(python, `\u00e9`, `\u00c3\u00a9`),
		"latin-1":      strings.ReplaceAll(secret, "é", "\xe9"),
		"latin-1-read": strings.ReplaceAll(secret, "é", "\uFFFD"),
		"latin-1-url":  "q=" + strings.ReplaceAll(url.QueryEscape(secret), "%C3%A9", "%E9"),
		"mixed":        mixed(secret),
		"mixed-json":   strings.ReplaceAll(mixed(secret), `\`, `\\`),
		"base64":       base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64-json":  base64.StdEncoding.EncodeToString([]byte(`{"bk_app_secret": ` + python + `}`)),
		"base64-url":   base64.URLEncoding.EncodeToString([]byte("x" + secret)),
		"hex":          hex.EncodeToString([]byte(secret)),
		"hex-upper":    fmt.Sprintf("%X", secret),
		"dump":         fmt.Sprintf(`{"bk_app_secret": %s, "bk_username": "admin"}`, python),
		"dump-python":  fmt.Sprintf("{'bk_app_secret': %s, 'bk_username': 'admin'}", repr),
		"dump-cut-off": `{"bk_app_secret": "` + secret[:len(canary.Begin)+2],
	}
}

// spelt has each character by its number.
func spelt(secret, form string) string {
	var text strings.Builder
	for _, char := range secret {
		fmt.Fprintf(&text, form, char)
	}
	return text.String()
}

// bytewise has each byte by its number.
func bytewise(secret, form string) string {
	var text strings.Builder
	for _, octet := range []byte(secret) {
		fmt.Fprintf(&text, form, octet)
	}
	return text.String()
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
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		texts[name] = string(data)
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil //nolint:nilerr // it is none
		}
		for _, member := range archive.File {
			opened, err := member.Open()
			if err != nil {
				return err
			}
			text, err := io.ReadAll(opened)
			if err != nil {
				return err
			}
			texts[name+"/"+member.Name] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// The search can find what the tests of this file's users want not to be there.
func TestSecrets_areFoundInEverySpelling(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(echoes(canary.Secret))) {
		if len(canary.In("some text"+echoes(canary.Secret)[name]+"and more")) == 0 {
			t.Errorf("not found as %s: %s", name, echoes(canary.Secret)[name])
		}
	}
	archive, err := os.Create(filepath.Join(dir, "plan.zip"))
	if err != nil {
		t.Fatal(err)
	}
	packed := zip.NewWriter(archive)
	member, err := packed.Create("tfplan")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(member, strings.Repeat("x", 1000)+canary.Secret); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if texts := everythingIn(t, dir); len(canary.In(texts["plan.zip/tfplan"])) == 0 {
		t.Errorf("not found in the archive: %v", slices.Collect(maps.Keys(texts)))
	}
}
