package histories

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// defect is one that the provider had, or nearly had: it is back when Code in File is
// Instead. FoundBy are the histories of TestFound that find it. The guide about faults
// lists them.
type defect struct {
	Title   string   `json:"title"`
	File    string   `json:"file"`
	Code    string   `json:"code"`
	Instead string   `json:"instead"`
	FoundBy []string `json:"found_by"`
}

func defects(t *testing.T) []defect {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "defects.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []defect
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Each defect is found by a history, and what repairs it stands where it is said to.
func TestDefects(t *testing.T) {
	t.Parallel()
	for _, d := range defects(t) {
		if len(d.FoundBy) == 0 {
			t.Errorf("%s: no history finds it", d.Title)
		}
		d.without(t)
		for _, name := range d.FoundBy {
			if _, is := found[name]; !is {
				t.Errorf("%s: there is no history %q", d.Title, name)
			}
		}
	}
}

// Each defect is put back, one at a time, and is found by the histories that it names.
// This builds the provider anew for each: BK_TEST_DEFECTS=all in the long job.
//
//nolint:paralleltest // one build at a time
func TestDefects_putBack(t *testing.T) {
	if os.Getenv("BK_TEST_DEFECTS") != "all" {
		t.Skip("set BK_TEST_DEFECTS=all")
	}
	failed := regexp.MustCompile(`--- FAIL: TestFound/(\S+)`)
	for _, d := range defects(t) {
		t.Run(d.Title, func(t *testing.T) {
			file, err := filepath.Abs(filepath.Join("..", "..", d.File))
			if err != nil {
				t.Fatal(err)
			}
			back := filepath.Join(t.TempDir(), "back.go")
			if err := os.WriteFile(back, []byte(strings.Replace(d.without(t), d.Code, d.Instead, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay := filepath.Join(t.TempDir(), "overlay.json")
			raw, err := json.Marshal(map[string]any{"Replace": map[string]string{file: back}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(overlay, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-overlay", overlay, "-run", "^TestFound$", ".")
			said, _ := run.CombinedOutput() // what fails is to fail
			var finds []string
			for _, match := range failed.FindAllStringSubmatch(string(said), -1) {
				finds = append(finds, match[1])
			}
			for _, name := range d.FoundBy {
				if !slices.Contains(finds, name) {
					t.Errorf("%s does not find it, only %v\n%s", name, finds, said)
				}
			}
		})
	}
}

// without is the file that a defect was in.
func (d defect) without(t *testing.T) string {
	t.Helper()
	code, err := os.ReadFile(filepath.Join("..", "..", d.File))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(code), d.Code); n != 1 {
		t.Fatalf("%s: the code that repairs it is in %s %d times: put it right in testdata/defects.json", d.Title, d.File, n)
	}
	return string(code)
}
