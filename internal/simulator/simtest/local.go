//go:build unix

package simtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// LocalHost returns a client of a simulator whose host 127.0.0.2 runs commands in a tree of its own. A
// second of a policy lasts 20 ms.
func LocalHost(t *testing.T, knobs ...func(*simulator.Server)) *Client {
	t.Helper()
	sim := &simulator.Server{Local: true, Root: t.TempDir(), Second: 20 * time.Millisecond, StopProcesses: true}
	for _, knob := range knobs {
		knob(sim)
	}
	return NewClient(t, sim)
}

// LocalIP is the address of the local host.
const LocalIP = "127.0.0.2"

// LocalSpec returns the spec of a daemon, with another control or policy if given.
func LocalSpec(control, policy string) string {
	if control == "" {
		control = `"start_cmd":"sleep 600 & echo $! > run.pid","stop_cmd":"kill $(cat run.pid)","kill_cmd":"kill -9 $(cat run.pid)",` +
			`"reload_cmd":"echo reloaded > reloaded","restart_cmd":"kill $(cat run.pid); sleep 600 & echo $! > run.pid",` +
			`"version_cmd":"echo 1.2.3","health_cmd":"echo fine for $BK_HOST_IP"`
	}
	if policy == "" {
		policy = `"auto_type":1,"start_check_secs":2,"stop_check_secs":100,"op_timeout":500,"start_interval":1`
	}
	return `{"identity":{"proc_name":"sleep","setup_path":"/opt/app","pid_path":"/opt/app/run.pid","user":"nobody"},` +
		`"control":{` + control + `},"alive_monitor_policy":{` + policy + `}}`
}

// Path returns the real path of a file of the local host.
func (c *Client) Path(name string) string {
	return filepath.Join(c.Sim.Root, LocalIP, "opt/app", name)
}

// PID returns the pid in the pid file of the local host.
func (c *Client) PID() int {
	c.T.Helper()
	pid, err := strconv.Atoi(ReadFile(c.T, c.Path("run.pid")))
	if err != nil {
		c.T.Fatal(err)
	}
	return pid
}

// Alive reports whether a process exists.
func Alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// Local operates on the local host and returns the verdict.
func (c *Client) Local(op int, spec string) Verdict {
	c.T.Helper()
	return c.Settle(c.OperateWith(op, spec, LocalIP), LocalIP)
}

// Running is Alive without zombies, which may have no parent to collect them.
func Running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Alive(pid)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// LocalDoes is Does on the local host.
func (c *Client) LocalDoes(op int, spec string, code int, state string) Verdict {
	c.T.Helper()
	return c.gives(fmt.Sprint("op ", op), c.Local(op, spec), LocalIP, code, state)
}
