package core

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"
)

// outputLimit is how much of a command's output is kept.
const outputLimit = 64 << 10

// keptEnvironment is the part of the simulator's own environment that a command gets. It is short because
// that environment may contain credentials.
var keptEnvironment = []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "SHELL", "TMPDIR", "TZ"}

// shell runs a command line of a spec in its setup_path and returns its output.
//
// The output goes to a file, because a daemon that the command starts keeps a pipe open, and waiting for
// the end of the pipe would mean waiting for the daemon. The command has a session of its own. So the
// daemon outlives the simulator, and a timeout kills the whole command and nothing else.
func (g *GSE) shell(t Target, sp *Spec, line string) (string, error) {
	dir := g.localPath(t, sp.SetupPath)
	if g.Root != "" {
		for _, d := range []string{dir, filepath.Dir(g.localPath(t, sp.pidPath))} {
			if err := os.MkdirAll(d, 0o750); err != nil {
				return "", err
			}
		}
	}
	out, err := os.CreateTemp("", "bk-simulator-*.out")
	if err != nil {
		return "", err
	}
	defer func() {
		_ = out.Close()
		_ = os.Remove(out.Name())
	}()

	// A running command may finish when the server closes. Killing it would leave a process without a
	// record.
	limit := g.seconds(sp.opTimeout)
	cmd := exec.Command("sh", "-c", line) //nolint:noctx // no caller's context may end what an agent does
	cmd.Dir = dir
	cmd.Env = g.environment(t)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = ownSession()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var late atomic.Bool
	timer := time.AfterFunc(limit, func() {
		late.Store(true)
		_ = killGroup(cmd.Process.Pid) // an error means that it has ended already
	})
	err = cmd.Wait()
	timer.Stop()
	output := readOutput(out)
	if late.Load() && err != nil {
		return output, fmt.Errorf("timed out after %ds", sp.opTimeout)
	}
	return output, err
}

func (g *GSE) environment(t Target) []string {
	env := []string{"BK_HOST_IP=" + t.IP.String()}
	if g.Root != "" {
		env = append(env, "BK_HOST_ROOT="+g.localRoot(t))
	}
	for _, name := range keptEnvironment {
		if v, set := os.LookupEnv(name); set {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func readOutput(f *os.File) string {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, outputLimit))
	if err != nil {
		return ""
	}
	return string(data)
}
