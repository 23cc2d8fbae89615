package simulator_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestState_survivesARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sandbox", "state.json")
	stands := time.Unix(1_700_000_000, 0)
	live := func() *client {
		sim := &simulator.Server{StateFile: file, Now: func() time.Time { return stands }}
		sim.AddHost("0:10.0.0.1", "0:10.0.0.2")
		c := newClient(t, sim)
		if err := sim.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := live()
	first.call("register_proc_info", "10.0.0.1")
	first.do(simulator.OpStart, "10.0.0.1")
	first.call("register_proc_info", "10.0.0.2")
	gone, _ := first.sim.Process("0:10.0.0.2", "web", "nginx")
	first.call("unregister_proc_info", "10.0.0.2")
	first.sim.SetReachable("0:10.0.0.2", false)
	task := first.operate(simulator.OpQuery, "10.0.0.1")
	want := first.sim.Processes()

	first.eventually("a save while it runs", func() bool {
		data, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(data), `"unreachable":["0:10.0.0.2"]`)
	})
	if err := first.sim.Close(); err != nil {
		t.Fatal(err)
	}

	second := live()
	if got := second.sim.Processes(); len(got) != 1 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	rows := rowsOf(t, second.send("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`))
	if host, _ := rows["10.0.0.1"]["host"].(map[string]any); host["bk_supplier_id"] != 7.0 {
		t.Errorf("the supplier of a registration did not survive: %v", host)
	}
	if v := second.call("register_proc_info", "10.0.0.2"); v.code != 117 {
		t.Errorf("the agent that was away is back: %+v", v)
	}
	if env := second.poll(task); env.Code != simulator.CodeTaskQueued {
		t.Errorf("a task of an earlier life: %+v", env)
	}
	second.sim.SetReachable("0:10.0.0.2", true)
	second.call("register_proc_info", "10.0.0.2")
	if p, _ := second.sim.Process("0:10.0.0.2", "web", "nginx"); p.RegisterTime <= gone.RegisterTime {
		t.Errorf("register_time %d is not after %d", p.RegisterTime, gone.RegisterTime)
	}
	if v := second.do(simulator.OpStart, "10.0.0.1"); v.code != 828 {
		t.Errorf("start of what runs: %+v", v)
	}
	left, err := filepath.Glob(file + ".*")
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestState_refusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"no-json": "{", "other-version": `{"version":99}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "state.json")
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			sim := &simulator.Server{StateFile: file}
			if err := sim.Start(); err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("Start: %v", err)
			}
		})
	}
}
