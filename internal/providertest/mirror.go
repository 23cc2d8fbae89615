package providertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// UseMirror makes the CLI find the provider as users' CLIs do, so that init works: not by a development
// override but in a mirror, under the registries of both CLIs.
func (c *CLI) UseMirror() {
	c.T.Helper()
	built, err := ProviderBinary()
	NoError(c.T, err)
	mirror := c.T.TempDir()
	for _, registry := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		dir := filepath.Join(mirror, registry, "blueking", "bk", "0.0.1", runtime.GOOS+"_"+runtime.GOARCH)
		NoError(c.T, errors.Join(os.MkdirAll(dir, 0o700), os.Symlink(filepath.Join(built, "terraform-provider-bk"), filepath.Join(dir, "terraform-provider-bk_v0.0.1"))))
	}
	c.Write("cli.tfrc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
}
