package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// served is the simulator that flags make.
func served(t *testing.T, args ...string) *simulator.Server {
	t.Helper()
	o, err := parseOptions(append([]string{"-quiet", "-local"}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	sim, err := o.server(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return sim
}

// field is the field of the simulator that has the name of a switch.
func field(sim *simulator.Server, name string) reflect.Value {
	name = strings.ReplaceAll(name, "-", "")
	return reflect.ValueOf(sim).Elem().FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, name) })
}

// Each switch sets the field of its name in the simulator, and is a row of the table of beliefs. The only
// exception is the switch that test networks need. The same is true of a profile.
func TestQuirks(t *testing.T) {
	t.Parallel()
	for _, name := range simulator.Switches() {
		if set := field(served(t, "-with", name), name); !set.IsValid() || !set.Bool() {
			t.Errorf("-with: the field of %s is not set", name)
		}
		b, known := belief.Find(name)
		if name == "admit-agents" {
			continue
		}
		if !known || !b.Switch || b.Expected != belief.No || b.Kind != belief.YesNo {
			t.Errorf("%s is no switch among the beliefs: %+v", name, b)
		}
		file := profile(t, `{"format": 1, "beliefs": {"`+name+`": "yes"}}`)
		if !field(served(t, "-platform", file), name).Bool() {
			t.Errorf("-platform: the field of %s is not set", name)
		}
	}
	for _, b := range belief.All() {
		if b.Switch && !slices.Contains(simulator.Switches(), b.ID) {
			t.Errorf("the simulator has no switch %s", b.ID)
		}
	}
}

// profile is a file with a profile.
func profile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "platform.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What is no switch is taken from a profile as well, or the greeting says that it is not.
func TestPlatform(t *testing.T) {
	t.Parallel()
	file := profile(t, `{"format": 1, "beliefs": {"status-lag": "90s", "labels-added": "yes", "start-replaces": "no", "second-stop": "0"}}`)
	sim := served(t, "-platform", file, "-with", "hosting-once")
	if sim.Lag != 90*time.Second || len(sim.RowLabels) != 1 || sim.StartReplaces || !sim.HostingOnce {
		t.Errorf("lag %s, labels %v, start-replaces %t, hosting-once %t", sim.Lag, sim.RowLabels, sim.StartReplaces, sim.HostingOnce)
	}
	if sim := served(t, "-platform", file, "-row-label", "bk=1"); len(sim.RowLabels) != 1 || sim.RowLabels["bk"] != "1" {
		t.Errorf("labels of a flag: %v", sim.RowLabels)
	}
	_, greeting, _ := greeted(t, io.Discard, "-quiet", "-local", "-platform", file)
	for _, want := range []string{"Not simulated of this platform: second-stop = 0.", "Not in the profile, so as the provider believes: register-hosts,"} {
		if !strings.Contains(greeting, want) {
			t.Errorf("the greeting does not say %q:\n%s", want, greeting)
		}
	}
}

func TestPlatform_refused(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		`file or directory`:           {"-platform", "/nonexistent"},
		`did you mean "hosting-once"`: {"-platform", profile(t, `{"format": 1, "beliefs": {"hosting-onze": "yes"}}`)},
		`"manage-proc" is not one of`: {"-with", "manage-proc"},
	} {
		var said strings.Builder
		if _, err := parseOptions(append(args, "-local"), &said); !errors.Is(err, errUsage) || !strings.Contains(said.String(), name) {
			t.Errorf("%s: got %v: %s", name, err, said.String())
		}
	}
}

// Every boolean that distinguishes platforms has a switch.
func TestQuirks_complete(t *testing.T) {
	t.Parallel()
	own := map[string]bool{"Local": true, "StopProcesses": true} // flags of their own
	for f := range reflect.TypeFor[simulator.Server]().Fields() {
		if f.Type.Kind() != reflect.Bool || !f.IsExported() || own[f.Name] {
			continue
		}
		if !slices.ContainsFunc(simulator.Switches(), func(name string) bool { return strings.EqualFold(strings.ReplaceAll(name, "-", ""), f.Name) }) {
			t.Errorf("no switch for %s", f.Name)
		}
	}
}

// The help lists every switch with what holds without it.
func TestUsage_listsSwitches(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	_, _ = parseOptions([]string{"-h"}, &said)
	for _, name := range simulator.Switches() {
		if b, _ := belief.Find(name); !strings.Contains(said.String(), name) || !strings.Contains(said.String(), strings.ReplaceAll(b.Holds.English, "`", "")) {
			t.Errorf("the help does not explain %s", name)
		}
	}
}
