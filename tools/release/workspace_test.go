package main

import (
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// newHome returns an empty home directory. Without a release, the test is skipped.
func newHome(t *testing.T) workspace {
	t.Helper()
	t.Parallel()
	if rehearsed.dist == "" {
		t.Skip("RELEASE_DIST is not set")
	}
	home := t.TempDir()
	return workspace{t: t, home: home, dir: home}
}

// eachCLI runs a test on every CLI, with an empty home directory and loopback only.
func eachCLI(t *testing.T, test func(t *testing.T, w workspace)) {
	t.Helper()
	newHome(t)
	for _, c := range rehearsed.clis {
		t.Run(c.name, func(t *testing.T) {
			w := newHome(t)
			w.cli, w.dir = c, filepath.Join(w.home, "configuration")
			fine(t, os.Mkdir(w.dir, 0o700))
			w.configure("blueking/bk")
			w.settings("")
			test(t, w)
		})
	}
}

type workspace struct {
	t         *testing.T
	cli       cli
	home, dir string
	extra     []string
}

func (w workspace) write(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w workspace) configure(source string) {
	w.t.Helper()
	w.write(filepath.Join(w.dir, "main.tf"), fmt.Sprintf(`
terraform {
  required_providers {
    bk = {
      source  = %q
      version = %q
    }
  }
}

provider "bk" {}

resource "bk_hosted_process" "web" {
  meta  = { namespace = "demo", name = "web" }
  hosts = { web-1 = "0:10.0.0.1" }
  spec = {
    identity = { proc_name = "web", setup_path = "/opt/web", pid_path = "/opt/web/web.pid", user = "web" }
    control  = { start_cmd = "./start.sh", stop_cmd = "./stop.sh" }
    monitor_policy = { auto_type = 1 }
  }
}
`, source, rehearsed.version))
}

func (w workspace) settings(installation string) {
	if installation != "" {
		installation = "provider_installation {\n" + installation + "}\n"
	}
	w.write(filepath.Join(w.home, "cli.tfrc"), installation)
}

func (w workspace) run(args ...string) (string, error) {
	process := exec.CommandContext(w.t.Context(), args[0], args[1:]...)
	process.Dir = w.dir
	process.Env = append([]string{
		"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + w.home, "TF_CLI_CONFIG_FILE=" + filepath.Join(w.home, "cli.tfrc"),
		"CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1",
		// Any network access fails at once, and is noticed.
		"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1,localhost",
	}, append(rehearsed.simulator, w.extra...)...)
	output, err := process.CombinedOutput()
	return string(output), err
}

func (w workspace) must(args ...string) string {
	w.t.Helper()
	output, err := w.run(args...)
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", args, err, output)
	}
	return output
}

func (w workspace) forget(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w workspace) plans(want string) {
	w.t.Helper()
	w.must(w.cli.path, "init", "-no-color")
	if plan := w.must(w.cli.path, "plan", "-no-color"); !strings.Contains(plan, want) {
		w.t.Errorf("the plan:\n%s", plan)
	}
}

// reachesAPlan runs init and a plan of the configuration's one resource.
func (w workspace) reachesAPlan() { w.t.Helper(); w.plans("1 to add") }

func (w workspace) reachesAPlanOfModules() {
	w.t.Helper()
	config := "terraform {\n  required_providers {\n    bk = { source = \"blueking/bk\" }\n  }\n}\n\nprovider \"bk\" {}\n"
	for _, module := range []string{"hosted-service", "windows-service"} {
		config += fmt.Sprintf(`
module %[1]q {
  source    = %[2]q
  namespace = "demo"
  name      = %[1]q
  hosts     = { web-1 = "0:10.0.0.1" }
  binary    = "web.exe"
  directory = "D:\\web"
  commands  = { start = "start.bat", stop = "stop.bat", restart = "restart.bat" }
}
`, module, filepath.Join(rehearsed.mirror, "modules")+"//"+module)
	}
	w.write(filepath.Join(w.dir, "main.tf"), config)
	w.plans("2 to add")
}

func (w workspace) refused(why string, args ...string) {
	w.t.Helper()
	output, err := w.run(append([]string{w.cli.path, "init", "-no-color"}, args...)...)
	unwrapped := strings.Join(strings.Fields(strings.NewReplacer("│", "", "╷", "", "╵", "").Replace(output)), " ")
	if err == nil || !regexp.MustCompile(why).MatchString(unwrapped) {
		w.t.Errorf("it should be refused for %q: %v\n%s", why, err, output)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	fine(t, err)
	return string(content)
}

func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// trusting returns the workspace with the certificate of a handler that is served over HTTPS.
func (w workspace) trusting(t *testing.T, handler http.Handler) (trusting workspace, url string) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	ca := filepath.Join(w.home, "ca.pem")
	w.write(ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	w.extra = append(w.extra, "SSL_CERT_FILE="+ca)
	return w, server.URL
}

// networkMirror returns the workspace with a directory as its mirror over HTTPS.
func (w workspace) networkMirror(t *testing.T, dir string) workspace {
	t.Helper()
	w, url := w.trusting(t, http.FileServer(http.Dir(dir)))
	w.settings(fmt.Sprintf("  network_mirror {\n    url = %q\n  }\n", url+"/"))
	return w
}

func (w workspace) nothingBelow(dir string) {
	w.t.Helper()
	if left := filesBelow(w.t, dir); len(left) != 0 {
		w.t.Errorf("%q is left", left)
	}
}

func fine(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

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

func TestSign(t *testing.T) {
	dir := t.TempDir()
	ours, other, signed, signature := filepath.Join(dir, "ours"), filepath.Join(dir, "other"), filepath.Join(dir, "sums"), filepath.Join(dir, "sums.sig")
	refused := func(why string, err error) {
		t.Helper()
		if err == nil {
			t.Error(why)
		}
	}
	fine(t, errors.Join(makeKey(ours), makeKey(other), os.WriteFile(signed, []byte("of a release"), 0o600)))
	t.Setenv("SIGNING_KEY_FILE", ours+".pub")
	refused("a public key should not sign", sign(signed, signature))
	t.Setenv("SIGNING_KEY_FILE", ours)
	fine(t, errors.Join(sign(signed, signature), verify(ours+".pub", signed, signature)))
	refused("another key should not have signed it", verify(other+".pub", signed, signature))
	fine(t, os.WriteFile(signed, []byte("of another release"), 0o600))
	refused("another content should not be signed", verify(ours+".pub", signed, signature))
}
