package providertest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// UseMirror has the CLI find the provider as users' CLIs do, in place of a development
// override: in a mirror, so that init works.
func (c *CLI) UseMirror() {
	c.T.Helper()
	mirror, err := mirrorOfBuild()
	if err != nil {
		c.T.Fatal(err)
	}
	c.Write("cli.tfrc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
}

// mirrorOfBuild is a filesystem mirror with the provider that the tests built, under the
// registries of both CLIs.
var mirrorOfBuild = sync.OnceValues(func() (string, error) {
	built, err := ProviderBinary()
	if err != nil {
		return "", err
	}
	mirror := filepath.Join(built, "mirror")
	for _, registry := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		dir := filepath.Join(mirror, registry, "blueking", "bk", "0.0.1", runtime.GOOS+"_"+runtime.GOARCH)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
		if err := os.Link(filepath.Join(built, "terraform-provider-bk"), filepath.Join(dir, "terraform-provider-bk_v0.0.1")); err != nil {
			return "", err
		}
	}
	return mirror, nil
})
