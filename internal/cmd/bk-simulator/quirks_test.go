package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Each quirk sets one field of the simulator, the one of its name.
func TestQuirks(t *testing.T) {
	t.Parallel()
	for name := range quirks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := parseOptions([]string{"-quiet", "-local", "-with", name}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			field := strings.ReplaceAll(name, "-", "")
			set := reflect.ValueOf(o.server(io.Discard)).Elem().FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, field) })
			if !set.IsValid() || !set.Bool() {
				t.Errorf("the field of %s is not set", name)
			}
		})
	}
}

// Every boolean that tells platforms apart has a quirk.
func TestQuirks_complete(t *testing.T) {
	t.Parallel()
	own := map[string]bool{"Local": true, "StopProcesses": true} // flags of their own
	for field := range reflect.TypeFor[simulator.Server]().Fields() {
		if field.Type.Kind() != reflect.Bool || !field.IsExported() || own[field.Name] {
			continue
		}
		found := false
		for name := range quirks {
			found = found || strings.EqualFold(strings.ReplaceAll(name, "-", ""), field.Name)
		}
		if !found {
			t.Errorf("no quirk for %s", field.Name)
		}
	}
}

func TestQuirks_unknown(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	if _, err := parseOptions([]string{"-local", "-with", "manage-proc"}, &said); !errors.Is(err, errUsage) || !strings.Contains(said.String(), "manage-proc-bug") {
		t.Errorf("got %v: %s", err, said.String())
	}
}

// The pages that say what is not proven name every quirk, but for what a test network needs.
func TestQuirks_areOnThePages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"versions.md", "zh-versions.md"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guides", name))
		if err != nil {
			t.Fatal(err)
		}
		for quirk := range quirks {
			if quirk != "admit-agents" && !strings.Contains(string(page), "`"+quirk+"`") {
				t.Errorf("%s does not name %s", name, quirk)
			}
		}
	}
}
