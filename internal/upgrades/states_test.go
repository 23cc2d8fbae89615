package upgrades_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// keep is the version whose schema and states are written, by make keep, in place of being
// compared.
var keep = flag.String("keep", "", "write the schema and the states of this release")

func TestMain(m *testing.M) {
	flag.Parse()
	if err := mayKeep(*keep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	providertest.Main(m)
}

// mayKeep returns an error where a release is out, and so is what it promised.
func mayKeep(version string) error {
	if version == "" {
		return nil
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
		return fmt.Errorf("-keep=%s: a version is three numbers, such as 0.1.0", version)
	}
	released, err := releases()
	if err != nil {
		return err
	}
	if slices.Contains(released, version) {
		return fmt.Errorf("-keep=%s: that release is out, and what it wrote stays as it is; keep the next one", version)
	}
	return nil
}

// releases are the versions that CHANGELOG.md has a heading for.
func releases() ([]string, error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, heading := range regexp.MustCompile(`(?m)^## v?(\d+\.\d+\.\d+)`).FindAllStringSubmatch(string(text), -1) {
		versions = append(versions, heading[1])
	}
	return versions, nil
}

// What a release leaves behind for a configuration, in a directory of its own.
const (
	configFile   = "main.tf"
	stateFile    = "state.json"    // as the CLI wrote it, with the provider's private data
	platformFile = "platform.json" // what is registered, and how
)

// onFile is a process on the platform.
type onFile struct {
	Host      string            `json:"host"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Hosted    bool              `json:"hosted"`
	Running   bool              `json:"running"`
	Labels    map[string]string `json:"labels"`
	Spec      json.RawMessage   `json:"spec"`
}

// A state of an earlier release can be read, and does not differ from what its configuration declares.
// The owner is still known: a destroy removes everything.
//
// Promised in upgrades.md: The first plan after an upgrade is empty
// Promised in upgrades.md: the same declaration keeps its fingerprint.
func TestAccStates(t *testing.T) {
	t.Parallel()
	if *keep != "" {
		keepStates(t, filepath.Join("testdata", *keep))
		return
	}
	all, release := "testdata", "*"
	if released, err := releases(); err != nil {
		t.Fatal(err)
	} else if len(released) == 0 { // there is none to read yet but what the next one would write
		all, release = t.TempDir(), "next"
		t.Run("keep", func(t *testing.T) { keepStates(t, filepath.Join(all, release)) })
	}
	kept, err := filepath.Glob(filepath.Join(all, release, "*", stateFile))
	if err != nil || len(kept) == 0 && os.Getenv("TF_ACC") != "" { // without it nothing is written
		t.Fatal(kept, err)
	}
	for _, file := range kept {
		dir := filepath.Dir(file)
		name, _ := filepath.Rel(all, dir)
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := newCLI(t, sim)
			restore(t, sim, dir)
			cli.Write("main.tf", providertest.ReadFile(t, dir, configFile))
			// Each CLI knows the provider by a registry of its own.
			cli.Write("terraform.tfstate", strings.ReplaceAll(providertest.ReadFile(t, dir, stateFile), "registry.terraform.io", registry()))

			providertest.Says(t, cli.Expect(0, "plan", "-detailed-exitcode"), "No changes.")
			sim.Changed(t)
			cli.Expect(0, "destroy", "-auto-approve")
			for _, process := range sim.Processes() {
				// Over JOB hosting is all that there is.
				if process.Registered && process.Namespace != "job" || process.Hosted {
					t.Errorf("left behind on %s: %+v", process.Host, process)
				}
			}
		})
	}
}

func newCLI(t *testing.T, sim *providertest.Sim) *providertest.CLI {
	t.Helper()
	cli := providertest.NewCLI(t, sim, "")
	cli.Env = append(cli.Env, "BK_JOB_ENDPOINT="+sim.URL)
	return cli
}

func registry() string { return cmp.Or(os.Getenv("TF_ACC_PROVIDER_HOST"), "registry.terraform.io") }

// keepStates applies each configuration and keeps what that left behind.
func keepStates(t *testing.T, release string) {
	t.Helper()
	providertest.NoError(t, os.RemoveAll(release))
	for _, name := range slices.Sorted(maps.Keys(configurations)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := newCLI(t, sim)
			cli.Write("main.tf", configurations[name])
			cli.Expect(0, "apply", "-auto-approve")
			cli.Expect(0, "plan", "-detailed-exitcode")

			dir := filepath.Join(release, name)
			providertest.NoError(t, os.MkdirAll(dir, 0o755))
			write(t, dir, configFile, configurations[name])
			write(t, dir, stateFile, strings.ReplaceAll(providertest.ReadFile(t, cli.Dir, "terraform.tfstate"), registry(), "registry.terraform.io"))
			var processes []onFile
			for _, p := range sim.Processes() {
				processes = append(processes, onFile{p.Host, p.Namespace, p.Name, p.Hosted, p.Running, p.Labels, p.Spec})
			}
			text, err := json.MarshalIndent(processes, "", "  ")
			providertest.NoError(t, err)
			write(t, dir, platformFile, string(text)+"\n")
		})
	}
}

// restore puts on the platform what a release left there.
func restore(t *testing.T, sim *providertest.Sim, dir string) {
	t.Helper()
	var processes []onFile
	providertest.Decode(t, providertest.ReadFile(t, dir, platformFile), &processes)
	for _, p := range processes {
		providertest.NoError(t, sim.Register(p.Host, p.Namespace, p.Name, p.Labels, string(p.Spec)))
		if p.Hosted {
			providertest.NoError(t, sim.Host(p.Host, p.Namespace, p.Name))
		}
		if p.Running {
			providertest.NoError(t, sim.StartProcess(p.Host, p.Namespace, p.Name))
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	providertest.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}
