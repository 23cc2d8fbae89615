package core_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestState_survivesARestart(t *testing.T) {
	t.Parallel()
	fixed := time.Unix(1_700_000_000, 0)
	live := simtest.Lives(t, func(sim *simulator.Server) {
		sim.Now = func() time.Time { return fixed }
		sim.AddHost("0:10.0.0.1", "0:10.0.0.2")
	})
	first := live()
	file := first.Sim.StateFile
	first.Call("register_proc_info", "10.0.0.1")
	first.Do(simulator.OpStart, "10.0.0.1")
	first.JobDo(simulator.OpStart, "")
	first.Call("register_proc_info", "10.0.0.2")
	gone, _ := first.Sim.Process("0:10.0.0.2", "web", "nginx")
	first.Call("unregister_proc_info", "10.0.0.2")
	first.Sim.SetReachable("0:10.0.0.2", false)
	task := first.Operate(simulator.OpQuery, "10.0.0.1")
	want := first.Sim.Processes()
	first.Eventually("a save while it runs", func() bool {
		data, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(data), `"unreachable":["0:10.0.0.2"]`)
	})
	second := live()
	simtest.Want(t, "processes", len(want), 2)
	simtest.Want(t, "processes", second.Sim.Processes(), want)
	rows := simtest.ByIP(simtest.RowsOf(t, second.Send("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`)))
	host, _ := rows["10.0.0.1"]["host"].(map[string]any)
	simtest.Want(t, "supplier of a registration", host["bk_supplier_id"], any(7.0))
	simtest.WantCode(t, "the agent that was away", second.Call("register_proc_info", "10.0.0.2"), 117)
	simtest.Want(t, "a task of an earlier life", second.Poll(task).Code, simulator.CodeTaskQueued)
	second.Sim.SetReachable("0:10.0.0.2", true)
	second.Call("register_proc_info", "10.0.0.2")
	if p, _ := second.Sim.Process("0:10.0.0.2", "web", "nginx"); p.RegisterTime <= gone.RegisterTime {
		t.Errorf("register_time %d is not after %d", p.RegisterTime, gone.RegisterTime)
	}
	second.Does(simulator.OpStart, 828, "RHr")
	simtest.Must(t, second.Sim.KillProcess("0:10.0.0.1", "job", "/opt/nginx/nginx"))
	second.Sim.Tick()
	simtest.Want(t, "a process of JOB that is revived", simtest.JobState(second.Sim), "true true")
	left, err := filepath.Glob(file + ".*")
	simtest.Must(t, err)
	simtest.Want(t, "left behind", len(left), 0)
}

func TestState_refusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"no-json": "{", "other-version": `{"version":99}`} {
		file := filepath.Join(t.TempDir(), name)
		simtest.Must(t, os.WriteFile(file, []byte(content), 0o600))
		simtest.WantError(t, (&simulator.Server{StateFile: file}).Start(), file)
	}
}
