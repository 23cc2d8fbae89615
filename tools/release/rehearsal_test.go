package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
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
	if said, err := exec.Command("tar", "-xzf", packed[0], "-C", dir).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, said)
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

func (r release) providers() string { return filepath.Join(r.mirror, "providers") }

// A plan works with the mirror's files, and over HTTPS.
func TestAccMirror(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		w.settings(filesystemMirror(rehearsed.providers()))
		w.reachesAPlan()
		w.reachesAPlanOfModules()
		w.forget(".terraform", ".terraform.lock.hcl")
		w.configure("blueking/bk")
		w.networkMirror(t, rehearsed.providers()).reachesAPlan()
	})
}

// A lock file for all platforms is written without a network, and is valid.
func TestAccMirror_lockFile(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		archives, err := filepath.Glob(filepath.Join(rehearsed.providers(), w.cli.registry, "blueking", "bk", "*.zip"))
		if err != nil || len(archives) == 0 {
			t.Fatal(archives, err)
		}
		lock := []string{w.cli.path, "providers", "lock", "-fs-mirror=" + rehearsed.providers()}
		for _, archive := range archives {
			lock = append(lock, "-platform="+archiveName.FindStringSubmatch(filepath.Base(archive))[2])
		}
		w.must(lock...)
		locked := readFile(t, filepath.Join(w.dir, ".terraform.lock.hcl"))
		if n := strings.Count(locked, `"h1:`); n != len(archives) {
			t.Errorf("%d of %d platforms:\n%s", n, len(archives), locked)
		}
		w.settings(filesystemMirror(rehearsed.providers()))
		w.must(w.cli.path, "init", "-no-color", "-lockfile=readonly")
	})
}

// A modified archive is rejected if a lock file has its checksum, or if the mirror serves its checksum.
func TestAccMirror_wrongChecksum(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		w.settings(filesystemMirror(rehearsed.providers()))
		w.must(w.cli.path, "init", "-no-color")
		w.forget(".terraform")
		changed := filepath.Join(w.home, "changed")
		fine(t, os.CopyFS(changed, os.DirFS(rehearsed.providers())))
		w.exchange(filepath.Join(changed, w.cli.registry, "blueking", "bk"))
		w.settings(filesystemMirror(changed))
		w.refused("doesn't match any of the checksums|checksum")
		w.forget(".terraform.lock.hcl")
		w.networkMirror(t, changed).refused("incorrect hash|checksum")
	})
}

func (w workspace) exchange(dir string) {
	w.t.Helper()
	prefix := filepath.Join(dir, "terraform-provider-bk_"+rehearsed.version+"_")
	other := "windows_amd64"
	if rehearsed.platform == other {
		other = "linux_amd64"
	}
	w.write(prefix+rehearsed.platform+".zip", readFile(w.t, prefix+other+".zip"))
}

// With an origin registry, the signature counts: it is checked against the registry's key.
func TestAccRegistry_signature(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		origin := &registry{release: rehearsed, key: readFile(t, os.Getenv("RELEASE_KEY"))}
		w, origin.url = w.trusting(t, origin)
		w.configure(strings.TrimPrefix(origin.url, "https://") + "/blueking/bk")
		w.reachesAPlan()
		w.forget(".terraform", ".terraform.lock.hcl")
		other := filepath.Join(w.home, "other")
		fine(t, makeKey(other))
		origin.key = readFile(t, other+".pub")
		w.refused("(?i)signature|unknown issuer|signed by")
		origin.key, origin.forged = readFile(t, os.Getenv("RELEASE_KEY")), true
		w.refused("(?i)signature|invalid")
	})
}

// install.sh needs no network, reports what it does, and can remove what it installed.
func TestAccInstallScript(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		script := filepath.Join(rehearsed.mirror, "install.sh")
		neighbour := filepath.Join(w.home, ".terraform.d", "plugins", "registry.terraform.io", "others", "their", "file")
		fine(t, os.MkdirAll(filepath.Dir(neighbour), 0o700))
		w.write(neighbour, "of somebody else")
		for range 2 { // the second run changes nothing
			if said := w.must(script); !strings.Contains(said, `version = "`+rehearsed.version+`"`) {
				t.Errorf("it does not say what to do next:\n%s", said)
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
		if !strings.Contains(block, "\n  }\n\n") {
			t.Fatalf("it does not say what goes into the CLI configuration:\n%s", said)
		}
		w.forget(".terraform")
		w.settings(filesystemMirror(shared))
		w.reachesAPlan()
		w.must(script, "--undo", "--to", shared)
		w.nothingBelow(shared)
	})
}

// The tarball contains this release's doctor, which runs.
func TestInstallScript_doctor(t *testing.T) {
	w := newHome(t)
	if _, err := exec.LookPath("unzip"); err != nil {
		t.Skip("there is no unzip")
	}
	doctor := filepath.Join(w.home, "a bin", "bk-doctor")
	said := w.must("sh", filepath.Join(rehearsed.mirror, "install.sh"), "--doctor", filepath.Dir(doctor))
	version := w.must(doctor, "version")
	if !strings.Contains(said, "bk-doctor "+rehearsed.version+" is in") || version != "bk-doctor "+rehearsed.version+"\n" {
		t.Errorf("it says %q, and %q", said, version)
	}
	if said := w.must(doctor, "check", "-host", "0:10.0.0.1"); !strings.Contains(said, "✓ agent of 0:10.0.0.1: it answers") {
		t.Errorf("it says %q", said)
	}
	w.nothingBelow(filepath.Join(w.home, ".terraform.d"))
}

// Nothing is installed from a broken tarball.
func TestInstallScript_brokenArchive(t *testing.T) {
	w := newHome(t)
	broken := filepath.Join(w.home, "broken")
	fine(t, os.CopyFS(broken, os.DirFS(rehearsed.mirror)))
	w.exchange(filepath.Join(broken, "providers", "registry.opentofu.org", "blueking", "bk"))
	said, err := w.run("sh", filepath.Join(broken, "install.sh"))
	if err == nil || !strings.Contains(said, "Nothing was installed") {
		t.Errorf("%v\n%s", err, said)
	}
	w.nothingBelow(filepath.Join(w.home, ".terraform.d"))
}

// A build of the same commit on another machine has the same bytes.
func TestRelease_isReproducible(t *testing.T) {
	newHome(t)
	zipped, err := zip.OpenReader(filepath.Join(rehearsed.dist, "terraform-provider-bk_"+rehearsed.version+"_"+rehearsed.platform+".zip"))
	fine(t, err)
	defer zipped.Close()
	if len(zipped.File) != 1 {
		t.Fatalf("the archive holds %d files, want the program alone", len(zipped.File))
	}
	program, err := zipped.File[0].Open()
	fine(t, err)
	released, err := io.ReadAll(program)
	if err != nil || readFile(t, os.Getenv("RELEASE_AGAIN")) != string(released) {
		t.Errorf("built again it is another program: %v", err)
	}
}

func TestRelease_reportsItsVersion(t *testing.T) {
	eachCLI(t, func(t *testing.T, w workspace) {
		w.settings(filesystemMirror(rehearsed.providers()))
		w.must(w.cli.path, "init", "-no-color")
		says := regexp.MustCompile(`^terraform-provider-bk ` + regexp.QuoteMeta(rehearsed.version) + ` \(commit [0-9a-f]{40}, 20\S+Z\)\n$`)
		for _, file := range filesBelow(t, filepath.Join(w.dir, ".terraform")) {
			if strings.Contains(filepath.Base(file), "terraform-provider-bk_v") {
				if said := w.must(file, "-version"); !says.MatchString(said) {
					t.Errorf("it says %q", said)
				}
				return
			}
		}
		t.Error("nothing is installed")
	})
}
