package provider

import (
	"slices"
	"strconv"
	"strings"

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

// operation is a column of the matrix.
type operation string

const (
	onCreate operation = "create"
	onRead   operation = "refresh"
	onUpdate operation = "update"
	onDelete operation = "destroy"
	onStatus operation = "status"
	// Operations of the process itself.
	onOperate operation = "start"
	onStop    operation = "stop"
	onKill    operation = "kill"
	onRestart operation = "restart"
	onReload  operation = "reload"
	// A refresh asks the agents where what is on file looks changed.
	onAsk operation = "refresh, agents asked"
	// Where the platform answers later, the question for the answer can fail alone.
	onConfirm operation = "create, result asked for"
	onWait    operation = "start, result asked for"
	// A create goes on from registering to hosting or starting, and a refresh looks
	// at more, where ensure says so. Everywhere else it is "registered".
	onHost    operation = "create, hosted"
	onRun     operation = "create, running"
	onReadRun operation = "refresh, running"
	onKeepRun operation = "update, running"
	// What is on file can be read by itself.
	onCached operation = "status, cached"
	onImport operation = "import"
	onList   operation = "list"
)

// command is the number and the name of the operation of the process that an
// operation of the matrix comes to.
type command struct {
	op   int
	name string
}

var commands = map[operation]command{
	onOperate: {simulator.OpStart, "start"}, onWait: {simulator.OpStart, "start"}, onRun: {simulator.OpStart, "start"},
	onStop: {simulator.OpStop, "stop"}, onKill: {simulator.OpKill, "kill"},
	onRestart: {simulator.OpRestart, "restart"}, onReload: {simulator.OpReload, "reload"},
}

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
		onWait:    {"get_proc_operate_result_v2", new(simulator.OpStart)},
		onHost:    {"operate_proc_v2", new(simulator.OpHost)},
		onReadRun: {api: "get_proc_status_v2"},
		onKeepRun: {api: "update_proc_info"},
		onStatus:  {"operate_proc_v2", new(simulator.OpQuery)},
		onCached:  {api: "get_proc_status_v2"},
		onImport:  {api: "sync_proc_status"},
		onList:    {api: "sync_proc_status"},
	}
	operate := "operate_proc_v2"
	switch f {
	case faceGateway:
		gse[onCreate] = target{"operate_proc_multi", new(simulator.OpHost)}
		gse[onConfirm] = target{"get_proc_operate_result_v2", new(simulator.OpHost)}
		gse[onUpdate] = target{"operate_proc_multi", new(simulator.OpHost)}
		gse[onDelete] = target{"operate_proc_multi", new(simulator.OpUnhost)}
		gse[onKeepRun] = gse[onUpdate]
		delete(gse, onHost) // registering hosts
	case faceJOB:
		operate = "operate_process"
		gse = map[operation]target{
			onCreate:  {"operate_process", new(simulator.OpHost)},
			onConfirm: {"get_proc_result", new(simulator.OpHost)},
			onRead:    {"operate_process", new(simulator.OpQuery)},
			onUpdate:  {"operate_process", new(simulator.OpHost)},
			onDelete:  {"operate_process", new(simulator.OpUnhost)},
			onReadRun: {"operate_process", new(simulator.OpQuery)},
			onKeepRun: {"operate_process", new(simulator.OpHost)},
			onWait:    {"get_proc_result", new(simulator.OpStart)},
			onStatus:  {"operate_process", new(simulator.OpQuery)},
		}
	default: // the ESB
	}
	for on, c := range commands {
		if on != onWait {
			gse[on] = target{operate, new(c.op)}
		}
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

// Model points an object at the process.
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
				"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh", "reload_cmd": "./reload.sh", "kill_cmd": "./kill.sh", "type": 1, "cpu_lmt": 30, "mem_lmt": 10,
			},
		}
	}
	return map[string]any{
		"meta":  map[string]any{"namespace": "web", "name": "nginx"},
		"hosts": addresses,
		"spec": map[string]any{
			"identity": map[string]any{"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "user": "root"},
			"control":  map[string]any{"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh", "reload_cmd": "./reload.sh", "kill_cmd": "./kill.sh"},
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
	switch {
	case o.operates():
		return prefix + "process_operation"
	case o == onStatus, o == onCached:
		return prefix + "process_status"
	default:
		return prefix + "hosted_process"
	}
}

func hostKey(n int) string { return "web-" + strconv.Itoa(n) }

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
	return f == faceESB && slices.Contains([]operation{onCreate, onUpdate, onKeepRun, onDelete}, o)
}

// operates tells operations of the process itself.
func (o operation) operates() bool {
	_, is := commands[o]
	return is && o != onRun
}

// reads tells operations of a data source.
func (o operation) reads() bool { return o == onStatus || o == onCached }

func (o operation) updates() bool { return o == onUpdate || o == onKeepRun }

func (o operation) refreshes() bool { return o == onRead || o == onAsk || o == onReadRun }

// looks tells operations that leave no state behind.
func (o operation) looks() bool {
	return slices.Contains([]operation{onStatus, onCached, onImport, onList}, o)
}

// first tells operations that begin without a state.
func (o operation) first() bool {
	return o.operates() || slices.Contains([]operation{onCreate, onConfirm, onHost, onRun}, o)
}

// onCLI tells whether a CLI can be asked for the operation. A list takes a later one
// than these tests may have, and the import of what cannot be found another
// configuration than the one that goes on from it.
func (o operation) onCLI() bool { return o != onImport && o != onList }

// method is how timeouts call what an operation does.
func (o operation) method() string {
	switch o {
	case onRead, onAsk, onReadRun, onStatus, onCached:
		return "read"
	case onUpdate, onKeepRun:
		return "update"
	case onDelete:
		return "delete"
	default:
		return "create"
	}
}

// exitCode is that of a plan with -detailed-exitcode.
func (k planKind) exitCode() int {
	if k == planNothing {
		return 0
	}
	return 2
}
