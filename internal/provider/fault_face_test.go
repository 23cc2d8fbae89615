package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// face is a way into the platform, with the objects that go by it. The matrix
// chooses its own, whatever BK_TEST_GATEWAY says: it is about all of them.
type face string

const (
	faceESB     face = "esb"
	faceGateway face = "apigw"
	faceJOB     face = "job"
)

var faces = []face{faceESB, faceGateway, faceJOB}

// operation is a column of the matrix.
type operation string

const (
	onCreate  operation = "create"
	onRead    operation = "refresh"
	onUpdate  operation = "update"
	onDelete  operation = "destroy"
	onOperate operation = "operate"
	onStatus  operation = "status"
	// A refresh asks the agents where what is on file looks changed.
	onAsk operation = "refresh, agents asked"
	// Where the platform answers later, the question for the answer can fail alone.
	onConfirm operation = "create, result asked for"
	onWait    operation = "operate, result asked for"
)

var operations = []operation{onCreate, onConfirm, onRead, onAsk, onUpdate, onDelete, onOperate, onWait, onStatus}

// path is the operation in the name of a test.
func (o operation) path() string { return strings.NewReplacer(", ", "-", " ", "-").Replace(string(o)) }

// target is the request on which everything of an operation depends.
type target struct {
	api string
	op  *int
}

// target is nil where the operation makes no such request.
func (f face) target(o operation) *target {
	gse := map[operation]target{
		onCreate:  {api: "register_proc_info"},
		onRead:    {api: "get_proc_status_v2"},
		onAsk:     {"operate_proc_v2", new(simulator.OpQuery)},
		onUpdate:  {api: "update_proc_info"},
		onDelete:  {api: "unregister_proc_info"},
		onOperate: {"operate_proc_v2", new(simulator.OpStart)},
		onWait:    {"get_proc_operate_result_v2", new(simulator.OpStart)},
		onStatus:  {"operate_proc_v2", new(simulator.OpQuery)},
	}
	switch f {
	case faceGateway:
		gse[onCreate] = target{"operate_proc_multi", new(simulator.OpHost)}
		gse[onConfirm] = target{"get_proc_operate_result_v2", new(simulator.OpHost)}
		gse[onUpdate] = target{"operate_proc_multi", new(simulator.OpHost)}
		gse[onDelete] = target{"operate_proc_multi", new(simulator.OpUnhost)}
	case faceJOB:
		gse = map[operation]target{
			onCreate:  {"operate_process", new(simulator.OpHost)},
			onConfirm: {"get_proc_result", new(simulator.OpHost)},
			onRead:    {"operate_process", new(simulator.OpQuery)},
			onUpdate:  {"operate_process", new(simulator.OpHost)},
			onDelete:  {"operate_process", new(simulator.OpUnhost)},
			onOperate: {"operate_process", new(simulator.OpStart)},
			onWait:    {"get_proc_result", new(simulator.OpStart)},
			onStatus:  {"operate_process", new(simulator.OpQuery)},
		}
	default: // the ESB
	}
	found, ok := gse[o]
	if !ok {
		return nil
	}
	return &found
}

// calls are those of a target.
func (t target) calls(all simulator.CallList) simulator.CallList {
	return slices.DeleteFunc(all.Of(t.api), func(c simulator.Call) bool { return t.op != nil && c.Op != *t.op })
}

// process is how the simulator knows the process of the matrix.
func (f face) process() (namespace, name string) {
	if f == faceJOB {
		return "job", "/srv/web/nginx"
	}
	return "web", "nginx"
}

// settings are the provider block that leads to a simulator by this face.
func (s *testSim) settingsFor(f face) map[string]any {
	settings := s.settings()
	settings["gateway"] = string(faceESB)
	if f == faceGateway {
		settings["gateway"] = string(faceGateway)
	}
	settings["max_retries"] = 2
	return settings
}

// reference points an object at the process.
func (f face) reference(start string, hosts int) map[string]any {
	addresses := make(map[string]string, hosts)
	for n := 1; n <= hosts; n++ {
		addresses[hostKey(n)] = testAddress(n)
	}
	if f == faceJOB {
		return map[string]any{
			"scope": map[string]any{"type": "biz", "id": "2"},
			"hosts": addresses,
			"process": map[string]any{
				"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid",
				"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh", "type": 1, "cpu_lmt": 30, "mem_lmt": 10,
			},
		}
	}
	return map[string]any{
		"meta":  map[string]any{"namespace": "web", "name": "nginx"},
		"hosts": addresses,
		"spec": map[string]any{
			"identity": map[string]any{"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "user": "root"},
			"control":  map[string]any{"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh"},
			"resource": map[string]any{"cpu": 30, "mem": 10}, "monitor_policy": map[string]any{"auto_type": 1},
		},
	}
}

// typeName is the type of the object that an operation is about.
func (f face) typeName(o operation) string {
	prefix := "bk_"
	if f == faceJOB {
		prefix = "bk_job_"
	}
	switch o {
	case onOperate, onWait:
		return prefix + "process_operation"
	case onStatus:
		return prefix + "process_status"
	default:
		return prefix + "hosted_process"
	}
}

func hostKey(n int) string { return "web-" + string(rune('0'+n)) }

// hostKeysOf are the keys of hosts by their addresses.
func hostKeysOf(t *testing.T, addresses []string) []string {
	t.Helper()
	var keys []string
	for n := 1; n <= matrixHosts; n++ {
		if slices.Contains(addresses, testAddress(n)) {
			keys = append(keys, hostKey(n))
		}
	}
	return keys
}

// resultAPI is where the result of a task is asked for.
func (f face) resultAPI() string {
	if f == faceJOB {
		return "get_proc_result"
	}
	return "get_proc_operate_result_v2"
}

// answers tells whether an operation is a call that answers for each host at once,
// and is repeated where that answer is 115. The others become tasks.
func (f face) answers(o operation) bool {
	return f == faceESB && (o == onCreate || o == onUpdate || o == onDelete)
}

// resultKey is how a result names a host.
func resultKey(f face, o operation, n int) string {
	address := testAddress(n)
	switch {
	case f == faceJOB:
		return "/srv/web/nginx:" + address
	case f.answers(o):
		return "0:" + address + ":web:nginx"
	}
	return address + ":web:nginx"
}

// bendResult replaces members of the answers that hold results, so many times, or
// always for 0.
func (r *faultRun) bendResult(members map[string]any, times int) {
	bent := simulator.Fault{API: r.face.resultAPI(), Replace: members, Times: times}
	if r.face.answers(r.on) {
		bent.API = r.face.target(r.on).api
	}
	r.sim.Inject(bent)
}

// setAutoType says how the process of a configuration lives.
func setAutoType(config map[string]any, autoType int) {
	if process, ok := config["process"].(map[string]any); ok {
		process["type"] = autoType
	}
	if spec, ok := config["spec"].(map[string]any); ok {
		spec["monitor_policy"] = map[string]any{"auto_type": autoType}
	}
}
