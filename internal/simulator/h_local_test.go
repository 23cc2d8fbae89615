//go:build unix

package simulator_test

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

// localHost is a client of a simulator whose host 127.0.0.2 runs commands in a
// tree of its own, where a second takes 20 ms.
func localHost(t *testing.T, knobs ...func(*simulator.Server)) *client {
	t.Helper()
	sim := &simulator.Server{Local: true, Root: t.TempDir(), Second: 20 * time.Millisecond, StopProcesses: true}
	for _, knob := range knobs {
		knob(sim)
	}
	return newClient(t, sim)
}

const localIP = "127.0.0.2"

// localSpec is the spec of a daemon, with members of control and of the policy
// replaced.
func localSpec(control, policy string) string {
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

func (c *client) path(name string) string {
	return filepath.Join(c.sim.Root, localIP, "opt/app", name)
}

func (c *client) pid() int {
	c.t.Helper()
	pid, err := strconv.Atoi(readFile(c.t, c.path("run.pid")))
	if err != nil {
		c.t.Fatal(err)
	}
	return pid
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func (c *client) local(op int, spec string) verdict {
	c.t.Helper()
	return c.settle(c.operateWith(op, spec, localIP), localIP)
}

// running is alive without zombies, which nobody may be there to collect.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return alive(pid)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}
