package processoperation_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// way is a test of several processes through GSE, in whose terms the tests are written, or through JOB. It has a
// platform and an operation that is not created yet.
type way struct {
	t        *testing.T
	face     providertest.Face
	sim      *providertest.Sim
	resource *providertest.Core
}

var ways = []providertest.Face{providertest.FaceESB, providertest.FaceJOB}

// onWays runs a test, or one case of it, in each way.
func onWays(t *testing.T, row string, play func(way)) {
	t.Helper()
	onFaces(t, row, ways, func(s trial) {
		sim := providertest.NewSim(s.t)
		play(way{s.t, s.by, sim, operationOf(s.t, sim, s.by)})
	})
}

func (w way) job() bool { return w.face == providertest.FaceJOB }

// name returns the simulator's name of a process, id its id in Terraform, and title the start of a sentence about it.
func (w way) name(name string) string {
	if w.job() {
		return "/srv/" + name
	}
	return name
}

func (w way) id(name string) string {
	if w.job() {
		return "biz:2:" + w.name(name)
	}
	return "web:" + name
}

func (w way) title(name string) string {
	if w.job() {
		return fmt.Sprintf("Process %q of biz:2", w.name(name))
	}
	return fmt.Sprintf("Process %q in namespace \"web\"", name)
}

// config converts a configuration for GSE to one for w.
func (w way) config(gse map[string]any) map[string]any {
	w.t.Helper()
	if !w.job() {
		return gse
	}
	config := jobReference(w.t, gse)
	if processes, is := config["processes"].(map[string]any); is {
		config["processes"] = make(map[string]any)
		for name, entry := range processes {
			if one, is := entry.(map[string]any); is {
				entry = jobReference(w.t, one)
			}
			config["processes"].(map[string]any)[name] = entry //nolint:forcetypeassert // made above
		}
	}
	return config
}

// jobReference returns JOB's attributes for GSE's.
func jobReference(t *testing.T, gse map[string]any) map[string]any {
	t.Helper()
	config := maps.Clone(gse)
	switch whole := gse["process"].(type) {
	case string:
		delete(config, "process")
		config["declaration"] = asJSON(t, jobReference(t, fromJSON(t, whole)))
	case providertest.NotKnown:
		delete(config, "process")
		config["declaration"] = whole
	}
	if meta, is := gse["meta"].(map[string]any); is {
		delete(config, "meta")
		delete(config, "spec")
		config["scope"] = map[string]any{"type": "biz", "id": "2"}
		config["process"] = map[string]any{
			"proc_name": meta["name"], "setup_path": "/srv", "pid_path": "/srv/web.pid", "type": 1,
			"start_cmd": "./start.sh", "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh", "reload_cmd": "./reload.sh", "kill_cmd": "./kill.sh",
		}
	}
	return config
}

// expect compares the operations that change something, in order. Through JOB a wave has concurrent calls, one for
// each process, instead of one call.
func (w way) expect(want ...string) {
	w.t.Helper()
	calls := slices.DeleteFunc(w.operations(), func(call string) bool { return call[0] == '2' || call[0] == '4' })
	if w.job() {
		var each []string
		for _, call := range want {
			op, processes, _ := strings.Cut(call, " ")
			first := len(each)
			for process := range strings.SplitAfterSeq(processes, "]") {
				if process != "" {
					each = append(each, op+" "+strings.TrimSpace(process))
				}
			}
			slices.Sort(calls[min(first, len(calls)):min(len(each), len(calls))])
		}
		want = each
	}
	providertest.Same(w.t, "calls", want, calls)
}

// operations returns the operations that were called, in order, such as "0 db[2] …", where host n is 10.0.0.n+1.
func (w way) operations() []string {
	w.t.Helper()
	calls := []string{}
	for _, call := range w.sim.Calls() {
		if !strings.HasPrefix(call.API, "operate_proc") {
			continue
		}
		line := fmt.Sprint(call.Op)
		for _, one := range w.operated(call) {
			line += " " + one.name + fmt.Sprint(one.numbers)
		}
		calls = append(calls, line)
	}
	return calls
}

// operatedProcess is a process in a call, with hosts by the last part of their IP.
type operatedProcess struct {
	name    string
	numbers []string
}

func (w way) operated(call simulator.Call) (all []operatedProcess) {
	w.t.Helper()
	type address struct{ IP string }
	type item struct {
		Meta  struct{ Name string }
		Name  string    `json:"proc_name"`
		Hosts []address `json:"hosts"`
		List  []address `json:"ip_list"`
	}
	var body struct {
		item
		Items []item `json:"proc_operate_req"`
		Infos []item `json:"process_infos"`
	}
	providertest.NoError(w.t, json.Unmarshal(call.Body, &body))
	items := slices.Concat(body.Items, body.Infos)
	if len(items) == 0 {
		items = []item{body.item}
	}
	for _, item := range items {
		one := operatedProcess{name: item.Meta.Name + item.Name}
		for _, address := range slices.Concat(item.Hosts, item.List) {
			one.numbers = append(one.numbers, address.IP[strings.LastIndex(address.IP, ".")+1:])
		}
		all = append(all, one)
	}
	return all
}
