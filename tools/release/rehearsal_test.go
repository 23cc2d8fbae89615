package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// release is what the tests install, built by make release-dry.
type release struct {
	dist, version string
	mirror        string // the unpacked tarball
	platform      string // of this machine
	simulator     []string
	clis          []cli
}

type cli struct{ name, path, registry string }

// rehearsed is the one release of all tests.
var rehearsed release

func TestMain(m *testing.M) {
	code, err := rehearse(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func rehearse(m *testing.M) (code int, err error) {
	dist := os.Getenv("RELEASE_DIST")
	if dist == "" {
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "rehearsal")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	r := release{dist: dist, platform: runtime.GOOS + "_" + runtime.GOARCH}
	packed, err := filepath.Glob(filepath.Join(dist, "*_mirror.tar.gz"))
	if err != nil || len(packed) != 1 {
		return 0, fmt.Errorf("mirrors in %s: %v, %w", dist, packed, err)
	}
	base := strings.TrimSuffix(filepath.Base(packed[0]), ".tar.gz")
	r.version = strings.TrimSuffix(strings.TrimPrefix(base, "terraform-provider-bk_"), "_mirror")
	if err := unpack(packed[0], dir); err != nil {
		return 0, err
	}
	r.mirror = filepath.Join(dir, base)
	for path := range strings.SplitSeq(os.Getenv("RELEASE_CLIS"), ":") {
		said, err := exec.Command(path, "version").Output()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		c := cli{"terraform", path, "registry.terraform.io"}
		if strings.Contains(string(said), "OpenTofu") {
			c = cli{"tofu", path, "registry.opentofu.org"}
		}
		r.clis = append(r.clis, c)
	}
	stop, err := r.startSimulator(dir)
	if err != nil {
		return 0, err
	}
	defer stop()
	rehearsed = r
	return m.Run(), nil
}

// startSimulator starts a platform for the plans.
func (r *release) startSimulator(dir string) (stop func(), err error) {
	binary, ready := filepath.Join(dir, "bk-simulator"), filepath.Join(dir, "ready")
	build := exec.Command("go", "-C", filepath.Join("..", ".."), "build", "-o", binary, "./internal/cmd/bk-simulator")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the simulator: %w\n%s", err, said)
	}
	process := exec.Command(binary, "-listen", "127.0.0.1:0", "-hosts", "0:10.0.0.1", "-app-secret", "rehearsal", "-ready-file", ready, "-quiet")
	if err := process.Start(); err != nil {
		return nil, err
	}
	stop = func() { _, _ = process.Process.Kill(), process.Wait() }
	for range 300 {
		if url, err := os.ReadFile(ready); err == nil {
			r.simulator = []string{"BK_ENDPOINT=" + strings.TrimSpace(string(url)), "BK_APP_CODE=bk_test", "BK_APP_SECRET=rehearsal", "BK_USERNAME=admin"}
			return stop, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	return nil, errors.New("the simulator is not ready after 30 s")
}

func filesystemMirror(dir string) string {
	return fmt.Sprintf("  filesystem_mirror {\n    path = %q\n  }\n", dir)
}

func TestAccMirror_filesystem(t *testing.T) {
	eachCLI(t, func(_ *testing.T, w workspace) {
		w.settings(filesystemMirror(filepath.Join(rehearsed.mirror, "providers")))
		w.reachesAPlan()
		w.reachesAPlanOfModules()
	})
}

func TestAccMirror_network(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		url := w.serve(t, http.FileServer(http.Dir(filepath.Join(rehearsed.mirror, "providers"))))
		w.extra = append(w.extra, "SSL_CERT_FILE="+filepath.Join(w.home, "ca.pem"))
		w.settings(fmt.Sprintf("  network_mirror {\n    url = %q\n  }\n", url+"/"))
		w.reachesAPlan()
	})
}

// A lock file for all platforms is written without a network, and is valid.
func TestAccMirror_lockFile(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		providers := filepath.Join(rehearsed.mirror, "providers")
		archives, err := filepath.Glob(filepath.Join(providers, w.cli.registry, "blueking", "bk", "*.zip"))
		if err != nil || len(archives) == 0 {
			t.Fatal(archives, err)
		}
		lock := []string{w.cli.path, "providers", "lock", "-fs-mirror=" + providers}
		for _, archive := range archives {
			lock = append(lock, "-platform="+archiveName.FindStringSubmatch(filepath.Base(archive))[2])
		}
		w.must(lock...)
		locked, err := os.ReadFile(filepath.Join(w.dir, ".terraform.lock.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(locked), `"h1:`); n != len(archives) {
			t.Errorf("%d of %d platforms:\n%s", n, len(archives), locked)
		}
		w.settings(filesystemMirror(providers))
		w.must(w.cli.path, "init", "-no-color", "-lockfile=readonly")
	})
}

// A modified archive is rejected if a lock file has its checksum, or if the mirror serves its checksum.
func TestAccMirror_wrongChecksum(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		w.settings(filesystemMirror(filepath.Join(rehearsed.mirror, "providers")))
		w.must(w.cli.path, "init", "-no-color")
		if err := os.RemoveAll(filepath.Join(w.dir, ".terraform")); err != nil {
			t.Fatal(err)
		}
		changed := filepath.Join(w.home, "changed")
		if err := os.CopyFS(changed, os.DirFS(filepath.Join(rehearsed.mirror, "providers"))); err != nil {
			t.Fatal(err)
		}
		w.exchange(filepath.Join(changed, w.cli.registry, "blueking", "bk"))
		w.settings(filesystemMirror(changed))
		w.refused("doesn't match any of the checksums|checksum")

		if err := os.Remove(filepath.Join(w.dir, ".terraform.lock.hcl")); err != nil {
			t.Fatal(err)
		}
		url := w.serve(t, http.FileServer(http.Dir(changed)))
		w.extra = append(w.extra, "SSL_CERT_FILE="+filepath.Join(w.home, "ca.pem"))
		w.settings(fmt.Sprintf("  network_mirror {\n    url = %q\n  }\n", url+"/"))
		w.refused("incorrect hash|checksum")
	})
}

// exchange replaces this machine's archive by another platform's.
func (w workspace) exchange(dir string) {
	w.t.Helper()
	prefix := filepath.Join(dir, "terraform-provider-bk_"+rehearsed.version+"_")
	other := "windows_amd64"
	if rehearsed.platform == other {
		other = "linux_amd64"
	}
	content, err := os.ReadFile(prefix + other + ".zip")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(prefix+rehearsed.platform+".zip", content, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// From an origin registry the signature counts: it is checked against the registry's key.
func TestAccRegistry_signature(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		origin := &registry{release: rehearsed, key: readFile(t, os.Getenv("RELEASE_KEY"))}
		url := w.serve(t, origin)
		origin.url = url
		w.extra = append(w.extra, "SSL_CERT_FILE="+filepath.Join(w.home, "ca.pem"))
		w.configure(strings.TrimPrefix(url, "https://") + "/blueking/bk")
		w.reachesAPlan()

		for _, name := range []string{".terraform", ".terraform.lock.hcl"} {
			if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		other := filepath.Join(w.home, "other")
		if err := makeKey(other); err != nil {
			t.Fatal(err)
		}
		origin.key = readFile(t, other+".pub")
		w.refused("(?i)signature|unknown issuer|signed by")
		origin.key, origin.forged = readFile(t, os.Getenv("RELEASE_KEY")), true
		w.refused("(?i)signature|invalid")
	})
}

// install.sh needs no network, says what it does, and can remove what it installed.
func TestAccInstallScript(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		script := filepath.Join(rehearsed.mirror, "install.sh")
		neighbour := filepath.Join(w.home, ".terraform.d", "plugins", "registry.terraform.io", "others", "their", "file")
		if err := os.MkdirAll(filepath.Dir(neighbour), 0o700); err != nil {
			t.Fatal(err)
		}
		w.write(neighbour, "of somebody else")

		for range 2 { // the second run changes nothing
			if said := w.must(script); !strings.Contains(said, `version = "`+rehearsed.version+`"`) {
				t.Errorf("it does not say how to go on:\n%s", said)
			}
		}
		w.reachesAPlan()
		w.must(script, "--undo")
		if left := filesBelow(t, filepath.Join(w.home, ".terraform.d")); len(left) != 1 || left[0] != neighbour {
			t.Errorf("after --undo there is %q", left)
		}

		shared := filepath.Join(w.home, "for all of us")
		said := w.must(script, "--to", shared)
		_, block, _ := strings.Cut(said, "provider_installation {\n")
		block, _, found := strings.Cut(block, "\n  }\n\n")
		if !found {
			t.Fatalf("it does not say what goes into the CLI configuration:\n%s", said)
		}
		block, _, _ = strings.Cut(block, "    direct {")
		if err := os.RemoveAll(filepath.Join(w.dir, ".terraform")); err != nil {
			t.Fatal(err)
		}
		w.settings(filesystemMirror(shared))
		w.reachesAPlan()
		w.must(script, "--undo", "--to", shared)
		if left := filesBelow(t, shared); len(left) != 0 {
			t.Errorf("after --undo there is %q", left)
		}
	})
}

// The tarball contains this release's doctor, which runs.
func TestInstallScript_doctor(t *testing.T) {
	t.Parallel()
	if rehearsed.dist == "" {
		t.Skip("RELEASE_DIST is not set")
	}
	if _, err := exec.LookPath("unzip"); err != nil {
		t.Skip("there is no unzip")
	}
	home := t.TempDir()
	w := workspace{t: t, home: home, dir: home}
	bin := filepath.Join(home, "a bin")
	if said := w.must("sh", filepath.Join(rehearsed.mirror, "install.sh"), "--doctor", bin); !strings.Contains(said, "bk-doctor "+rehearsed.version+" is in") {
		t.Errorf("it says %q", said)
	}
	doctor := filepath.Join(bin, "bk-doctor")
	if said := w.must(doctor, "version"); said != "bk-doctor "+rehearsed.version+"\n" {
		t.Errorf("it says %q", said)
	}
	if said := w.must(doctor, "check", "-host", "0:10.0.0.1"); !strings.Contains(said, "✓ agent of 0:10.0.0.1: it answers") {
		t.Errorf("it says %q", said)
	}
	if left := filesBelow(t, filepath.Join(home, ".terraform.d")); len(left) != 0 {
		t.Errorf("there is %q", left)
	}
}

// A broken tarball installs nothing.
func TestInstallScript_brokenArchive(t *testing.T) {
	t.Parallel()
	if rehearsed.dist == "" {
		t.Skip("RELEASE_DIST is not set")
	}
	home := t.TempDir()
	broken := filepath.Join(home, "broken")
	if err := os.CopyFS(broken, os.DirFS(rehearsed.mirror)); err != nil {
		t.Fatal(err)
	}
	w := workspace{t: t, home: home, dir: home}
	w.exchange(filepath.Join(broken, "providers", "registry.opentofu.org", "blueking", "bk"))
	said, err := w.run("sh", filepath.Join(broken, "install.sh"))
	if err == nil || !strings.Contains(said, "Nothing was installed") {
		t.Errorf("%v\n%s", err, said)
	}
	if left := filesBelow(t, filepath.Join(home, ".terraform.d")); len(left) != 0 {
		t.Errorf("there is %q", left)
	}
}

// A build of the same commit elsewhere gives the released bytes.
func TestRelease_isReproducible(t *testing.T) {
	t.Parallel()
	if rehearsed.dist == "" {
		t.Skip("RELEASE_DIST is not set")
	}
	zipped, err := zip.OpenReader(filepath.Join(rehearsed.dist, "terraform-provider-bk_"+rehearsed.version+"_"+rehearsed.platform+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer zipped.Close()
	if len(zipped.File) != 1 {
		t.Fatalf("the archive holds %d files, want the program alone", len(zipped.File))
	}
	program, err := zipped.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	released, err := io.ReadAll(program)
	if err != nil {
		t.Fatal(err)
	}
	if again := readFile(t, os.Getenv("RELEASE_AGAIN")); again != string(released) {
		t.Error("built again it is another program")
	}
}

func TestRelease_reportsItsVersion(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		w.settings(filesystemMirror(filepath.Join(rehearsed.mirror, "providers")))
		w.must(w.cli.path, "init", "-no-color")
		for _, file := range filesBelow(t, filepath.Join(w.dir, ".terraform")) {
			if strings.Contains(filepath.Base(file), "terraform-provider-bk_v") {
				said := w.must(file, "-version")
				if !regexp.MustCompile(`^terraform-provider-bk ` + regexp.QuoteMeta(rehearsed.version) + ` \(commit [0-9a-f]{40}, 20\S+Z\)\n$`).MatchString(said) {
					t.Errorf("it says %q", said)
				}
				return
			}
		}
		t.Error("nothing is installed")
	})
}

func unpack(tarball, dir string) error {
	file, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for content := tar.NewReader(zipped); ; {
		header, err := content.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if header.Typeflag == tar.TypeLink {
			if err := os.Link(filepath.Join(dir, filepath.FromSlash(header.Linkname)), path); err != nil {
				return err
			}
			continue
		}
		inside, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, inside, os.FileMode(header.Mode)); err != nil {
			return err
		}
	}
}
