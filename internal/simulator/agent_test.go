//go:build unix

package simulator_test

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
)

// The agent counts a command once, and a refusal that ran none.
func TestAgent_executions(t *testing.T) {
	t.Parallel()
	c := localHost(t)
	for _, op := range []int{simulator.OpStart, simulator.OpStart, simulator.OpQuery, simulator.OpStop} {
		c.local(op, localSpec("", ""))
	}
	want := []string{"0:127.0.0.2 web:nginx start 0", "0:127.0.0.2 web:nginx start 828", "0:127.0.0.2 web:nginx stop 0"}
	if got := c.executed(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAgent_lifeOfADaemon(t *testing.T) {
	t.Parallel()
	c := localHost(t)
	spec := localSpec("", "")

	if v := c.local(simulator.OpQuery, spec); v.code != 0 || instance(t, v)["pid"] != -1.0 {
		t.Errorf("query before: %+v", v)
	}
	if v := c.local(simulator.OpStart, spec); v.code != 0 || state(c.sim, localIP) != "-Hr" {
		t.Fatalf("start: %+v, then %s", v, state(c.sim, localIP))
	}
	first := c.pid()
	if !alive(first) {
		t.Fatalf("process %d is not there", first)
	}
	if v := c.local(simulator.OpStart, spec); v.code != 828 {
		t.Errorf("second start: %+v", v)
	}
	row := c.rows(localIP)[localIP]
	if row["pid"] != float64(first) || row["status"] != 1.0 || row["isauto"] != true || row["version"] != "1.2.3\n" {
		t.Errorf("row: %v", row)
	}
	live := instance(t, c.local(simulator.OpQuery, spec))
	if live["pid"] != float64(first) || live["version"] != "1.2.3\n" || live["health"] != "fine for 127.0.0.2\n" {
		t.Errorf("query: %v", live)
	}

	if v := c.local(simulator.OpReload, spec); v.code != 0 || readFile(t, c.path("reloaded")) != "reloaded" {
		t.Errorf("reload: %+v", v)
	}
	if v := c.local(simulator.OpRestart, spec); v.code != 0 || c.pid() == first || state(c.sim, localIP) != "-Hr" {
		t.Errorf("restart: %+v, pid %d after %d, then %s", v, c.pid(), first, state(c.sim, localIP))
	}
	second := c.pid()
	if v := c.local(simulator.OpStop, spec); v.code != 0 || state(c.sim, localIP) != "---" {
		t.Errorf("stop: %+v, then %s", v, state(c.sim, localIP))
	}
	c.eventually("the daemon's end", func() bool { return !running(second) })
	if v := c.local(simulator.OpKill, spec); v.code != 829 {
		t.Errorf("kill after stop: %+v", v)
	}
}

func TestAgent_revivesWhatDied(t *testing.T) {
	t.Parallel()
	c := localHost(t)
	spec := localSpec("", "")
	c.local(simulator.OpStart, spec)
	first := c.pid()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.eventually("its death to be noticed", func() bool { return state(c.sim, localIP) == "-H-" })
	c.sim.Tick()
	if got := state(c.sim, localIP); got != "-Hr" || c.pid() == first {
		t.Errorf("not revived: %s", got)
	}

	c.local(simulator.OpUnhost, spec)
	if err := c.sim.KillProcess("0:"+localIP, "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	if c.sim.Tick(); state(c.sim, localIP) != "---" {
		t.Errorf("revived although nobody hosts it: %s", state(c.sim, localIP))
	}
}

func TestAgent_supervisesByItself(t *testing.T) {
	t.Parallel()
	c := localHost(t, func(s *simulator.Server) { s.Supervise = 5 * time.Millisecond })
	if err := c.sim.Start(); err != nil {
		t.Fatal(err)
	}
	c.local(simulator.OpStart, localSpec("", ""))
	first := c.pid()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.eventually("a new process", func() bool {
		p, _ := c.sim.Process("0:"+localIP, "web", "nginx")
		return p.Running && p.PID != first
	})
}

func TestAgent_givesUp(t *testing.T) {
	t.Parallel()
	c := localHost(t)
	// The first start works, later ones do not, and are counted.
	spec := localSpec(`"start_cmd":"echo x >> starts; [ -e once ] || { touch once; sleep 600 & echo $! > run.pid; }"`,
		`"auto_type":1,"start_check_secs":1,"start_retries":2,"start_interval":0`)
	if v := c.local(simulator.OpStart, spec); v.code != 0 {
		t.Fatalf("start: %+v", v)
	}
	if err := c.sim.KillProcess("0:"+localIP, "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		c.sim.Tick()
	}
	if got := strings.Count(readFile(t, c.path("starts")), "x"); got != 1+2 {
		t.Errorf("start_cmd ran %d times, want once and 2 retries", got)
	}
}

func TestAgent_failures(t *testing.T) {
	t.Parallel()
	// Fifty seconds are one here, in which a busy machine starts a shell as well.
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
			c := localHost(t)
			spec := localSpec(test.control, policy)
			want := "---"
			if test.started {
				if v := c.local(simulator.OpStart, spec); v.code != 0 {
					t.Fatalf("start: %+v", v)
				}
				want = "-Hr"
			}
			v := c.local(test.op, spec)
			if got := state(c.sim, localIP); v.code != test.code || !strings.HasPrefix(v.message, test.message) || got != want {
				t.Errorf("got %d %q, then %s", v.code, v.message, got)
			}
		})
	}
}

func TestAgent_stopsWhatIsOverItsLimits(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("limits need /proc")
	}
	c := localHost(t)
	c.local(simulator.OpStart, localSpec("", ""))
	first := c.pid()
	// A shell takes more than nothing of the memory.
	c.local(simulator.OpHost, strings.Replace(localSpec("", ""), `"alive_monitor_policy"`, `"resource":{"cpu":100,"mem":0},"alive_monitor_policy"`, 1))
	c.sim.Tick()
	c.eventually("its end", func() bool { return !running(first) })
	row := c.rows(localIP)[localIP]
	if message := fmt.Sprint(row["message"]); row["status"] != 2.0 || row["isauto"] != true || !strings.Contains(message, "mem usage") {
		t.Errorf("row: %v", row)
	}
	if c.sim.Tick(); state(c.sim, localIP) != "-Hr" {
		t.Errorf("not brought back: %s", state(c.sim, localIP))
	}
}

func TestAgent_stopsWhatTakesTooMuchCPU(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("limits need /proc")
	}
	c := localHost(t)
	busy := localSpec(`"start_cmd":"(while :; do :; done) & echo $! > run.pid"`, "")
	if v := c.local(simulator.OpStart, strings.Replace(busy, `"alive_monitor_policy"`, `"resource":{"cpu":0.5,"mem":100},"alive_monitor_policy"`, 1)); v.code != 0 {
		t.Fatalf("start: %+v", v)
	}
	first := c.pid()
	c.eventually("its end", func() bool {
		c.sim.Tick()
		return !running(first)
	})
	if message := fmt.Sprint(c.rows(localIP)[localIP]["message"]); !strings.Contains(message, "cpu usage") {
		t.Errorf("message: %s", message)
	}
}

func TestAgent_hostsAreApart(t *testing.T) {
	t.Parallel()
	c := localHost(t)
	spec := localSpec("", "")
	id := c.operateWith(simulator.OpStart, spec, "127.0.0.2", "127.0.0.3")
	for _, ip := range []string{"127.0.0.2", "127.0.0.3"} {
		if v := c.settle(id, ip); v.code != 0 {
			t.Errorf("%s: %+v", ip, v)
		}
		if _, err := os.Stat(filepath.Join(c.sim.Root, ip, "opt/app/run.pid")); err != nil {
			t.Error(err)
		}
	}
	if v := c.settle(c.operateWith(simulator.OpStop, spec, "127.0.0.2"), "127.0.0.2"); v.code != 0 {
		t.Errorf("stop: %+v", v)
	}
	if got := state(c.sim, "127.0.0.3"); got != "-Hr" {
		t.Errorf("the other host: %s", got)
	}
}

func TestAgent_daemonOutlivesTheSimulator(t *testing.T) {
	t.Parallel()
	c := localHost(t, func(s *simulator.Server) { s.StopProcesses = false })
	c.local(simulator.OpStart, localSpec("", ""))
	pid := c.pid()
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if err := c.sim.Close(); err != nil {
		t.Fatal(err)
	}
	if !running(pid) {
		t.Error("it ended with the simulator")
	}

	second := &simulator.Server{Local: true, Root: c.sim.Root, Second: c.sim.Second, StopProcesses: true}
	again := newClient(t, second)
	if live := instance(t, again.local(simulator.OpQuery, localSpec("", ""))); live["pid"] != float64(pid) {
		t.Errorf("the next simulator does not see it: %v", live)
	}
}

func TestAgent_stalePIDFile(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/uptime"); err != nil {
		t.Skip("the age of a process is in /proc")
	}
	c := localHost(t)
	spec := localSpec("", "")
	c.local(simulator.OpStart, spec)
	pid := c.pid()
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	// The file of a daemon from before a reboot, whose pid is somebody else's
	// by now.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(c.path("run.pid"), old, old); err != nil {
		t.Fatal(err)
	}
	if v := c.local(simulator.OpStop, spec); v.code != 829 || !running(pid) {
		t.Errorf("stop: %+v, and the process is running: %t", v, running(pid))
	}
}
