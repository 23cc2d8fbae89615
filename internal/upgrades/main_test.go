package upgrades_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
