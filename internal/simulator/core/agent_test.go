//go:build unix

package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// The agent counts a command once, and also a refusal that ran none.
func TestAgent_executions(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	for _, op := range []int{simulator.OpStart, simulator.OpStart, simulator.OpQuery, simulator.OpStop} {
		c.Local(op, simtest.LocalSpec("", ""))
	}
	want := []string{"0:127.0.0.2 web:nginx start 0", "0:127.0.0.2 web:nginx start 828", "0:127.0.0.2 web:nginx stop 0"}
	if got := c.Executed(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAgent_lifeOfADaemon(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	spec := simtest.LocalSpec("", "")

	if v := c.Local(simulator.OpQuery, spec); v.Code != 0 || simtest.Instance(t, v)["pid"] != -1.0 {
		t.Errorf("query before: %+v", v)
	}
	if v := c.Local(simulator.OpStart, spec); v.Code != 0 || simtest.State(c.Sim, simtest.LocalIP) != "-Hr" {
		t.Fatalf("start: %+v, then %s", v, simtest.State(c.Sim, simtest.LocalIP))
	}
	if text := c.Sim.ProcFile("0:" + simtest.LocalIP); !strings.Contains(text, `"valuekey":"web:nginx"`) {
		t.Errorf("the agent's file: %s", text)
	}
	first := c.PID()
	if !simtest.Alive(first) {
		t.Fatalf("process %d is not there", first)
	}
	if v := c.Local(simulator.OpStart, spec); v.Code != 828 {
		t.Errorf("second start: %+v", v)
	}
	row := c.Rows(simtest.LocalIP)[simtest.LocalIP]
	if row["pid"] != float64(first) || row["status"] != 1.0 || row["isauto"] != true || row["version"] != "1.2.3\n" {
		t.Errorf("row: %v", row)
	}
	live := simtest.Instance(t, c.Local(simulator.OpQuery, spec))
	if live["pid"] != float64(first) || live["version"] != "1.2.3\n" || live["health"] != "fine for 127.0.0.2\n" {
		t.Errorf("query: %v", live)
	}

	// A query by the name of the binary alone is about what is hosted.
	live = simtest.Instance(t, c.Local(simulator.OpQuery, `{"identity":{"proc_name":"sleep"}}`))
	if live["pid"] != float64(first) || live["version"] != "1.2.3\n" {
		t.Errorf("query by the binary: %v", live)
	}
	c.Sim.ResetViolations()

	if v := c.Local(simulator.OpReload, spec); v.Code != 0 || simtest.ReadFile(t, c.Path("reloaded")) != "reloaded" {
		t.Errorf("reload: %+v", v)
	}
	if v := c.Local(simulator.OpRestart, spec); v.Code != 0 || c.PID() == first || simtest.State(c.Sim, simtest.LocalIP) != "-Hr" {
		t.Errorf("restart: %+v, pid %d after %d, then %s", v, c.PID(), first, simtest.State(c.Sim, simtest.LocalIP))
	}
	second := c.PID()
	if v := c.Local(simulator.OpStop, spec); v.Code != 0 || simtest.State(c.Sim, simtest.LocalIP) != "---" {
		t.Errorf("stop: %+v, then %s", v, simtest.State(c.Sim, simtest.LocalIP))
	}
	c.Eventually("the daemon's end", func() bool { return !simtest.Running(second) })
	if v := c.Local(simulator.OpKill, spec); v.Code != 829 {
		t.Errorf("kill after stop: %+v", v)
	}
}

func TestAgent_revivesWhatDied(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	spec := simtest.LocalSpec("", "")
	c.Local(simulator.OpStart, spec)
	first := c.PID()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.Eventually("its death to be noticed", func() bool { return simtest.State(c.Sim, simtest.LocalIP) == "-H-" })
	c.Sim.Tick()
	if got := simtest.State(c.Sim, simtest.LocalIP); got != "-Hr" || c.PID() == first {
		t.Errorf("not revived: %s", got)
	}

	c.Local(simulator.OpUnhost, spec)
	if err := c.Sim.KillProcess("0:"+simtest.LocalIP, "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	if c.Sim.Tick(); simtest.State(c.Sim, simtest.LocalIP) != "---" {
		t.Errorf("restarted although it is not hosted: %s", simtest.State(c.Sim, simtest.LocalIP))
	}
}

func TestAgent_supervisesByItself(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t, func(s *simulator.Server) { s.Supervise = 5 * time.Millisecond })
	if err := c.Sim.Start(); err != nil {
		t.Fatal(err)
	}
	c.Local(simulator.OpStart, simtest.LocalSpec("", ""))
	first := c.PID()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.Eventually("a new process", func() bool {
		p, _ := c.Sim.Process("0:"+simtest.LocalIP, "web", "nginx")
		return p.Running && p.PID != first
	})
}

func TestAgent_givesUp(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	// The first start works, later ones do not, and are counted.
	spec := simtest.LocalSpec(`"start_cmd":"echo x >> starts; [ -e once ] || { touch once; sleep 600 & echo $! > run.pid; }"`,
		`"auto_type":1,"start_check_secs":1,"start_retries":2,"start_interval":0`)
	if v := c.Local(simulator.OpStart, spec); v.Code != 0 {
		t.Fatalf("start: %+v", v)
	}
	if err := c.Sim.KillProcess("0:"+simtest.LocalIP, "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		c.Sim.Tick()
	}
	if got := strings.Count(simtest.ReadFile(t, c.Path("starts")), "x"); got != 1+2 {
		t.Errorf("start_cmd ran %d times, want once and 2 retries", got)
	}
}

func TestAgent_failures(t *testing.T) {
	t.Parallel()
	// Fifty seconds are one second here, enough for a busy machine to start a shell.
	policy := `"auto_type":1,"start_check_secs":1,"stop_check_secs":2,"op_timeout":50`
	tests := map[string]struct {
		control string
		op      int
		started bool
		code    int
		message string
	}{
		"exit-status":  {`"start_cmd":"echo one; echo two >&2; exit 3"`, simulator.OpStart, false, 65535, "start_cmd: exit status 3\none\ntwo\n"},
		"too-slow":     {`"start_cmd":"echo begun; sleep 600"`, simulator.OpStart, false, 65535, "start_cmd: timed out after 50s\nbegun\n"},
		"no-process":   {`"start_cmd":"true"`, simulator.OpStart, false, 836, "start check failed: no process by /opt/app/run.pid"},
		"does-not-end": {`"start_cmd":"sleep 600 & echo $! > run.pid","stop_cmd":"true"`, simulator.OpStop, true, 836, "stop check failed: "},
		"no-kill-cmd":  {`"start_cmd":"sleep 600 & echo $! > run.pid"`, simulator.OpKill, true, 65535, "kill_cmd is not given"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.LocalHost(t)
			spec := simtest.LocalSpec(test.control, policy)
			want := "---"
			if test.started {
				if v := c.Local(simulator.OpStart, spec); v.Code != 0 {
					t.Fatalf("start: %+v", v)
				}
				want = "-Hr"
			}
			v := c.Local(test.op, spec)
			if got := simtest.State(c.Sim, simtest.LocalIP); v.Code != test.code || !strings.HasPrefix(v.Message, test.message) || got != want {
				t.Errorf("got %d %q, then %s", v.Code, v.Message, got)
			}
		})
	}
}

func TestAgent_stopsWhatIsOverItsLimits(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("limits need /proc")
	}
	c := simtest.LocalHost(t)
	c.Local(simulator.OpStart, simtest.LocalSpec("", ""))
	first := c.PID()
	// A shell uses some memory.
	c.Local(simulator.OpHost, strings.Replace(simtest.LocalSpec("", ""), `"alive_monitor_policy"`, `"resource":{"cpu":100,"mem":0},"alive_monitor_policy"`, 1))
	c.Eventually("its end", func() bool {
		c.Sim.Tick()
		row := c.Rows(simtest.LocalIP)[simtest.LocalIP]
		return row["status"] == 2.0 && row["isauto"] == true && strings.Contains(fmt.Sprint(row["message"]), "mem usage")
	})
	if simtest.Running(first) {
		t.Error("it still runs")
	}
	c.Eventually("its return", func() bool {
		c.Sim.Tick()
		return simtest.State(c.Sim, simtest.LocalIP) == "-Hr"
	})
}

func TestAgent_stopsWhatTakesTooMuchCPU(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("limits need /proc")
	}
	c := simtest.LocalHost(t)
	busy := simtest.LocalSpec(`"start_cmd":"(while :; do :; done) & echo $! > run.pid"`, "")
	if v := c.Local(simulator.OpStart, strings.Replace(busy, `"alive_monitor_policy"`, `"resource":{"cpu":0.5,"mem":100},"alive_monitor_policy"`, 1)); v.Code != 0 {
		t.Fatalf("start: %+v", v)
	}
	first := c.PID()
	group, err := syscall.Getpgid(first)
	if err != nil || group == syscall.Getpgrp() {
		t.Fatalf("it has no process group of its own: %d, %v", group, err)
	}
	t.Cleanup(func() {
		if simtest.Running(first) { // it would be busy for ever
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	})
	c.Eventually("its end", func() bool {
		c.Sim.Tick()
		return !simtest.Running(first)
	})
	if message := fmt.Sprint(c.Rows(simtest.LocalIP)[simtest.LocalIP]["message"]); !strings.Contains(message, "cpu usage") {
		t.Errorf("message: %s", message)
	}
}

func TestAgent_hostsAreApart(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	spec := simtest.LocalSpec("", "")
	id := c.OperateWith(simulator.OpStart, spec, "127.0.0.2", "127.0.0.3")
	for _, ip := range []string{"127.0.0.2", "127.0.0.3"} {
		if v := c.Settle(id, ip); v.Code != 0 {
			t.Errorf("%s: %+v", ip, v)
		}
		if _, err := os.Stat(filepath.Join(c.Sim.Root, ip, "opt/app/run.pid")); err != nil {
			t.Error(err)
		}
	}
	if v := c.Settle(c.OperateWith(simulator.OpStop, spec, "127.0.0.2"), "127.0.0.2"); v.Code != 0 {
		t.Errorf("stop: %+v", v)
	}
	if got := simtest.State(c.Sim, "127.0.0.3"); got != "-Hr" {
		t.Errorf("the other host: %s", got)
	}
}

func TestAgent_daemonOutlivesTheSimulator(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t, func(s *simulator.Server) { s.StopProcesses = false })
	c.Local(simulator.OpStart, simtest.LocalSpec("", ""))
	pid := c.PID()
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if err := c.Sim.Close(); err != nil {
		t.Fatal(err)
	}
	if !simtest.Running(pid) {
		t.Error("it ended with the simulator")
	}

	second := &simulator.Server{Local: true, Root: c.Sim.Root, Second: c.Sim.Second, StopProcesses: true}
	again := simtest.NewClient(t, second)
	if live := simtest.Instance(t, again.Local(simulator.OpQuery, simtest.LocalSpec("", ""))); live["pid"] != float64(pid) {
		t.Errorf("the next simulator does not see it: %v", live)
	}
}

func TestAgent_stalePIDFile(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/uptime"); err != nil {
		t.Skip("the age of a process is in /proc")
	}
	c := simtest.LocalHost(t)
	spec := simtest.LocalSpec("", "")
	c.Local(simulator.OpStart, spec)
	pid := c.PID()
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	// The pid file of a daemon from before a reboot, whose pid now belongs to another process.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(c.Path("run.pid"), old, old); err != nil {
		t.Fatal(err)
	}
	if v := c.Local(simulator.OpStop, spec); v.Code != 829 || !simtest.Running(pid) {
		t.Errorf("stop: %+v, and the process is running: %t", v, simtest.Running(pid))
	}
}
