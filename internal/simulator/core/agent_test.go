//go:build unix

package core_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// Each command that ran is recorded once, and so is a refusal, for which none ran. Address and agent id name the same process.
func TestAgent_lifeOfADaemon(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	c.Sim.AddAgent(simtest.AgentA, "0:"+simtest.LocalIP)
	spec := simtest.LocalSpec("", "")
	simtest.Want(t, "pid before", simtest.Instance(t, c.LocalDoes(simulator.OpQuery, spec, 0, "---"))["pid"], any(-1.0))
	started := c.Gateway("operate_proc_v2", fmt.Sprintf(`{%s,%s,"op_type":0,"spec":%s}`, simtest.Meta("{}"), simtest.Agents(simtest.AgentA), spec))
	simtest.WantCode(t, "start by agent id", c.Settled(started, simtest.AgentA), 0)
	simtest.WantIn(t, "the agent's file", c.Sim.ProcFile("0:"+simtest.LocalIP), `"valuekey":"web:nginx"`)
	first := c.PID()
	if !simtest.Alive(first) {
		t.Fatalf("process %d is not there", first)
	}
	c.LocalDoes(simulator.OpStart, spec, 828, "-Hr")
	row := c.Rows(simtest.LocalIP)[simtest.LocalIP]
	simtest.Want(t, "row", fmt.Sprint(row["pid"], row["status"], row["isauto"], row["version"]), fmt.Sprint(first, " 1 true1.2.3\n"))
	row = c.GatewayRows(simtest.Agents(simtest.AgentA))[0]
	simtest.Want(t, "row at the gateway", fmt.Sprint(row["pid"], row["bk_agent_id"]), fmt.Sprint(first, simtest.AgentA))
	live := simtest.Instance(t, c.LocalDoes(simulator.OpQuery, spec, 0, "-Hr"))
	simtest.Want(t, "query", fmt.Sprint(live["pid"], live["version"], live["health"]), fmt.Sprint(first, "1.2.3\nfine for 127.0.0.2\n"))
	// A query that names only the binary is about the hosted process.
	live = simtest.Instance(t, c.LocalDoes(simulator.OpQuery, `{"identity":{"proc_name":"sleep"}}`, 0, "-Hr"))
	simtest.Want(t, "query by the binary", fmt.Sprint(live["pid"], live["version"]), fmt.Sprint(first, "1.2.3\n"))
	c.Sim.ResetViolations()

	c.LocalDoes(simulator.OpReload, spec, 0, "-Hr")
	simtest.Want(t, "reload", simtest.ReadFile(t, c.Path("reloaded")), "reloaded")
	c.LocalDoes(simulator.OpRestart, spec, 0, "-Hr")
	second := c.PID()
	simtest.Check(t, second != first, "after a restart it still is %d", first)
	c.LocalDoes(simulator.OpStop, spec, 0, "---")
	c.Eventually("the daemon's end", func() bool { return !simtest.Running(second) })
	c.LocalDoes(simulator.OpKill, spec, 829, "---")
	simtest.Want(t, "executions", c.Executed(), []string{
		"0:127.0.0.2 web:nginx start 0", "0:127.0.0.2 web:nginx start 828", "0:127.0.0.2 web:nginx reload 0",
		"0:127.0.0.2 web:nginx restart 0", "0:127.0.0.2 web:nginx stop 0", "0:127.0.0.2 web:nginx kill 829",
	})
}

func TestAgent_revivesWhatDied(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	spec := simtest.LocalSpec("", "")
	c.Local(simulator.OpStart, spec)
	first := c.PID()
	simtest.Must(t, syscall.Kill(first, syscall.SIGKILL))
	c.Eventually("its death to be noticed", func() bool { return simtest.State(c.Sim, simtest.LocalIP) == "-H-" })
	c.Sim.Tick()
	got := simtest.State(c.Sim, simtest.LocalIP)
	simtest.Check(t, got == "-Hr" && c.PID() != first, "not revived: %s", got)
	c.Local(simulator.OpUnhost, spec)
	simtest.Must(t, c.Sim.KillProcess("0:"+simtest.LocalIP, "web", "nginx"))
	c.Sim.Tick()
	simtest.Want(t, "not hosted", simtest.State(c.Sim, simtest.LocalIP), "---")
}

func TestAgent_supervisesByItself(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t, func(s *simulator.Server) { s.Supervise = 5 * time.Millisecond })
	simtest.Must(t, c.Sim.Start())
	c.Local(simulator.OpStart, simtest.LocalSpec("", ""))
	first := c.PID()
	simtest.Must(t, syscall.Kill(first, syscall.SIGKILL))
	c.Eventually("a new process", func() bool {
		p, _ := c.Sim.Process("0:"+simtest.LocalIP, "web", "nginx")
		return p.Running && p.PID != first
	})
}

// The first start works, later ones do not. start_cmd counts its runs.
func TestAgent_givesUp(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	spec := simtest.LocalSpec(`"start_cmd":"echo x >> starts; [ -e once ] || { touch once; sleep 600 & echo $! > run.pid; }"`,
		`"auto_type":1,"start_check_secs":1,"start_retries":2,"start_interval":0`)
	c.LocalDoes(simulator.OpStart, spec, 0, "-Hr")
	simtest.Must(t, c.Sim.KillProcess("0:"+simtest.LocalIP, "web", "nginx"))
	for range 5 {
		c.Sim.Tick()
	}
	simtest.Want(t, "runs of start_cmd", simtest.ReadFile(t, c.Path("starts")), "x\nx\nx") // once, and two retries
}

func TestAgent_failures(t *testing.T) {
	t.Parallel()
	// Fifty seconds are one second here, enough for a busy machine to start a shell.
	policy := `"auto_type":1,"start_check_secs":1,"stop_check_secs":2,"op_timeout":50`
	for name, test := range map[string]struct {
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.LocalHost(t)
			spec := simtest.LocalSpec(test.control, policy)
			state := "---"
			if test.started {
				state = "-Hr"
				c.LocalDoes(simulator.OpStart, spec, 0, state)
			}
			v := c.LocalDoes(test.op, spec, test.code, state)
			simtest.Check(t, strings.HasPrefix(v.Message, test.message), "message %q", v.Message)
		})
	}
}

func limited(t *testing.T, control, resource string) (c *simtest.Client, spec string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("limits need /proc")
	}
	return simtest.LocalHost(t), strings.Replace(simtest.LocalSpec(control, ""), `"alive_monitor_policy"`, `"resource":`+resource+`,"alive_monitor_policy"`, 1)
}

func TestAgent_stopsWhatIsOverItsLimits(t *testing.T) {
	t.Parallel()
	c, spec := limited(t, "", `{"cpu":100,"mem":0}`) // a shell uses some memory
	c.Local(simulator.OpStart, simtest.LocalSpec("", ""))
	first := c.PID()
	c.Local(simulator.OpHost, spec)
	c.Eventually("its end", func() bool {
		c.Sim.Tick()
		row := c.Rows(simtest.LocalIP)[simtest.LocalIP]
		return row["status"] == 2.0 && row["isauto"] == true && strings.Contains(fmt.Sprint(row["message"]), "mem usage")
	})
	simtest.Want(t, "still running", simtest.Running(first), false)
	c.Eventually("its return", func() bool {
		c.Sim.Tick()
		return simtest.State(c.Sim, simtest.LocalIP) == "-Hr"
	})
}

func TestAgent_stopsWhatTakesTooMuchCPU(t *testing.T) {
	t.Parallel()
	c, spec := limited(t, `"start_cmd":"(while :; do :; done) & echo $! > run.pid"`, `{"cpu":0.5,"mem":100}`)
	c.LocalDoes(simulator.OpStart, spec, 0, "-Hr")
	first := c.PID()
	group, err := syscall.Getpgid(first)
	if err != nil || group == syscall.Getpgrp() {
		t.Fatalf("it has no process group of its own: %d, %v", group, err)
	}
	t.Cleanup(func() {
		if simtest.Running(first) { // it would never end
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	})
	c.Eventually("its end", func() bool {
		c.Sim.Tick()
		return !simtest.Running(first)
	})
	simtest.WantIn(t, "message", fmt.Sprint(c.Rows(simtest.LocalIP)[simtest.LocalIP]["message"]), "cpu usage")
}

func TestAgent_daemonOutlivesTheSimulator(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t, func(s *simulator.Server) { s.StopProcesses = false })
	c.Local(simulator.OpStart, simtest.LocalSpec("", ""))
	pid := c.PID()
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	simtest.Must(t, c.Sim.Close())
	simtest.Want(t, "it runs on", simtest.Running(pid), true)
	again := simtest.NewClient(t, &simulator.Server{Local: true, Root: c.Sim.Root, Second: c.Sim.Second, StopProcesses: true})
	live := simtest.Instance(t, again.Local(simulator.OpQuery, simtest.LocalSpec("", "")))
	simtest.Want(t, "pid at the next simulator", live["pid"], any(float64(pid)))
}

func TestAgent_daemonEndsWithTheSimulator(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	c.Local(simulator.OpStart, simtest.LocalSpec("", ""))
	pid := c.PID()
	simtest.Must(t, c.Sim.Close())
	c.Eventually("its end", func() bool { return !simtest.Running(pid) })
}

// The pid file of a daemon from before a reboot has a pid that now belongs to another process.
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
	old := time.Now().Add(-time.Hour)
	simtest.Must(t, os.Chtimes(c.Path("run.pid"), old, old))
	simtest.WantCode(t, "stop", c.Local(simulator.OpStop, spec), 829)
	simtest.Want(t, "it runs on", simtest.Running(pid), true)
}

// A path of a spec does not lead out of its host's tree.
func TestAgent_staysInItsTree(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	const (
		control = `"start_cmd":"pwd > where; sleep 600 & echo $! > run.pid","kill_cmd":"kill -9 $(cat run.pid)"`
		patient = `"auto_type":1,"start_check_secs":15,"stop_check_secs":100,"op_timeout":500`
	)
	for _, name := range []string{"/../../../../outside", "/opt/../../127.0.0.3/outside", "/..//./../outside"} {
		spec := strings.ReplaceAll(simtest.LocalSpec(control, patient), "/opt/app", name)
		c.LocalDoes(simulator.OpStart, spec, 0, "-Hr")
		c.LocalDoes(simulator.OpKill, spec, 0, "---")
	}
	simtest.Must(t, filepath.WalkDir(filepath.Dir(c.Sim.Root), func(path string, _ fs.DirEntry, err error) error {
		tree := filepath.Join(c.Sim.Root, simtest.LocalIP)
		if err == nil && !strings.HasPrefix(path, tree) && !strings.HasPrefix(tree, path) {
			t.Errorf("outside of the tree: %s", path)
		}
		return err
	}))
}
