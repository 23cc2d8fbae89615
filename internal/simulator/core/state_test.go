package core_test

import (
	"os"
	"path/filepath"
	"reflect"
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
	if got := second.Sim.Processes(); len(got) != 1 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	rows := simtest.RowsOf(t, second.Send("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`))
	if host, _ := rows["10.0.0.1"]["host"].(map[string]any); host["bk_supplier_id"] != 7.0 {
		t.Errorf("the supplier of a registration did not survive: %v", host)
	}
	if v := second.Call("register_proc_info", "10.0.0.2"); v.Code != 117 {
		t.Errorf("the agent that was away is back: %+v", v)
	}
	if env := second.Poll(task); env.Code != simulator.CodeTaskQueued {
		t.Errorf("a task of an earlier life: %+v", env)
	}
	second.Sim.SetReachable("0:10.0.0.2", true)
	second.Call("register_proc_info", "10.0.0.2")
	if p, _ := second.Sim.Process("0:10.0.0.2", "web", "nginx"); p.RegisterTime <= gone.RegisterTime {
		t.Errorf("register_time %d is not after %d", p.RegisterTime, gone.RegisterTime)
	}
	if v := second.Do(simulator.OpStart, "10.0.0.1"); v.Code != 828 {
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

// If suppliers are distinguished, a process is unregistered under the supplier that registered it, also
// after a restart. One registered without a supplier is found under any.
func TestState_suppliersApart(t *testing.T) {
	t.Parallel()
	const (
		host  = "0:10.0.0.1"
		other = `{"meta":{"namespace":"web","name":"nginx"},"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0,"bk_supplier_id":2}]}`
	)
	for name, test := range map[string]struct {
		apart    bool
		register func(c *simtest.Client)
		code     int // of unregistering under another supplier
	}{
		"apart":    {true, func(c *simtest.Client) { c.Call("register_proc_info", "10.0.0.1") }, 829},
		"together": {false, func(c *simtest.Client) { c.Call("register_proc_info", "10.0.0.1") }, 0},
		"console": {true, func(c *simtest.Client) {
			if err := c.Sim.Register(host, "web", "nginx", nil, "{}"); err != nil {
				c.T.Fatal(err)
			}
		}, 0},
		"gateway": {true, func(c *simtest.Client) {
			c.Call("register_proc_info", "10.0.0.1")
			c.GatewayOperate(simulator.OpHost, `"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0}]`, host)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := simtest.Lives(t, func(sim *simulator.Server) {
				sim.SuppliersApart = test.apart
				sim.AddHost(host)
			})
			test.register(live())
			c := live()
			if v := simtest.VerdictOf(t, c.Send("unregister_proc_info", other).Data, "0:2:10.0.0.1:web:nginx"); v.Code != test.code {
				t.Errorf("unregistered under another supplier: %+v", v)
			}
			if p, _ := c.Sim.Process(host, "web", "nginx"); p.Registered != (test.code != 0) {
				t.Errorf("registered %t afterwards", p.Registered)
			}
			if v := c.Call("unregister_proc_info", "10.0.0.1"); test.code != 0 && v.Code != 0 {
				t.Errorf("unregistered under its own: %+v", v)
			}
		})
	}
}
