//go:build unix

package core_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// A path of a spec does not lead out of its host's tree.
func TestAgent_staysInItsTree(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	const patient = `"auto_type":1,"start_check_secs":15,"stop_check_secs":100,"op_timeout":500`
	for _, name := range []string{"/../../../../outside", "/opt/../../127.0.0.3/outside", "/..//./../outside"} {
		spec := strings.ReplaceAll(simtest.LocalSpec(`"start_cmd":"pwd > where; sleep 600 & echo $! > run.pid","kill_cmd":"kill -9 $(cat run.pid)"`, patient), "/opt/app", name)
		if v := c.Local(simulator.OpStart, spec); v.Code != 0 {
			t.Errorf("%s: start: %+v", name, v)
		}
		if v := c.Local(simulator.OpKill, spec); v.Code != 0 {
			t.Errorf("%s: kill: %+v", name, v)
		}
	}
	err := filepath.WalkDir(filepath.Dir(c.Sim.Root), func(path string, _ fs.DirEntry, err error) error {
		tree := filepath.Join(c.Sim.Root, simtest.LocalIP)
		if err == nil && !strings.HasPrefix(path, tree) && !strings.HasPrefix(tree, path) {
			t.Errorf("outside of the tree: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// More seconds than a duration can hold mean the longest one, not 0.
func TestAgent_waitsAsLongAsAnybodyAsks(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	spec := simtest.LocalSpec("", `"auto_type":1,"start_check_secs":15,"stop_check_secs":9223372036854775807,"op_timeout":9223372036854775807`)
	if v := c.Local(simulator.OpStart, spec); v.Code != 0 {
		t.Errorf("start: %+v", v)
	}
	if v := c.Local(simulator.OpStop, spec); v.Code != 0 {
		t.Errorf("stop: %+v", v)
	}
}
