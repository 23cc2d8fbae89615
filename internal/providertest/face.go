package providertest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Face is a way into the platform, with the objects that go by it. The matrix
// chooses its own, whatever BK_TEST_GATEWAY says: it is about all of them.
type Face string

const (
	FaceESB     Face = "esb"
	FaceGateway Face = "apigw"
	FaceJOB     Face = "job"
)

// Operation is a column of the matrix.
type Operation string

const (
	OnCreate Operation = "create"
	OnRead   Operation = "refresh"
	OnUpdate Operation = "update"
	OnDelete Operation = "destroy"
	OnStatus Operation = "status"
	// Operations of the process itself.
	OnOperate Operation = "start"
	OnStop    Operation = "stop"
	OnKill    Operation = "kill"
	OnRestart Operation = "restart"
	OnReload  Operation = "reload"
	// A refresh asks the agents where what is on file looks changed.
	OnAsk Operation = "refresh, agents asked"
	// Where the platform answers later, the question for the answer can fail alone.
	OnConfirm Operation = "create, result asked for"
	OnWait    Operation = "start, result asked for"
	// A create goes on from registering to hosting or starting, and a refresh looks
	// at more, where ensure says so. Everywhere else it is "registered".
	OnHost    Operation = "create, hosted"
	OnRun     Operation = "create, running"
	OnReadRun Operation = "refresh, running"
	OnKeepRun Operation = "update, running"
	// What is on file can be read by itself.
	OnCached Operation = "status, cached"
	OnImport Operation = "import"
	OnList   Operation = "list"
)

// Command is the number and the name of the operation of the process that an
// operation of the matrix comes to.
type command struct {
	Op   int
	Name string
}

var Commands = map[Operation]command{
	OnOperate: {simulator.OpStart, "start"}, OnWait: {simulator.OpStart, "start"}, OnRun: {simulator.OpStart, "start"},
	OnStop: {simulator.OpStop, "stop"}, OnKill: {simulator.OpKill, "kill"},
	OnRestart: {simulator.OpRestart, "restart"}, OnReload: {simulator.OpReload, "reload"},
}

// Path is the operation in the name of a test.
func (o Operation) Path() string { return strings.NewReplacer(", ", "-", " ", "-").Replace(string(o)) }

// Target is the request on which everything of an operation depends.
type Target struct {
	API string
	Op  *int
}

// Target is nil where the operation makes no such request.
func (f Face) Target(o Operation) *Target {
	gse := map[Operation]Target{
		OnCreate:  {API: "register_proc_info"},
		OnRead:    {API: "get_proc_status_v2"},
		OnAsk:     {"operate_proc_v2", new(simulator.OpQuery)},
		OnUpdate:  {API: "update_proc_info"},
		OnDelete:  {API: "unregister_proc_info"},
		OnWait:    {"get_proc_operate_result_v2", new(simulator.OpStart)},
		OnHost:    {"operate_proc_v2", new(simulator.OpHost)},
		OnReadRun: {API: "get_proc_status_v2"},
		OnKeepRun: {API: "update_proc_info"},
		OnStatus:  {"operate_proc_v2", new(simulator.OpQuery)},
		OnCached:  {API: "get_proc_status_v2"},
		OnImport:  {API: "sync_proc_status"},
		OnList:    {API: "sync_proc_status"},
	}
	operate := "operate_proc_v2"
	switch f {
	case FaceGateway:
		gse[OnCreate] = Target{"operate_proc_multi", new(simulator.OpHost)}
		gse[OnConfirm] = Target{"get_proc_operate_result_v2", new(simulator.OpHost)}
		gse[OnUpdate] = Target{"operate_proc_multi", new(simulator.OpHost)}
		gse[OnDelete] = Target{"operate_proc_multi", new(simulator.OpUnhost)}
		gse[OnKeepRun] = gse[OnUpdate]
		delete(gse, OnHost) // registering hosts
	case FaceJOB:
		operate = "operate_process"
		gse = map[Operation]Target{
			OnCreate:  {"operate_process", new(simulator.OpHost)},
			OnConfirm: {"get_proc_result", new(simulator.OpHost)},
			OnRead:    {"operate_process", new(simulator.OpQuery)},
			OnUpdate:  {"operate_process", new(simulator.OpHost)},
			OnDelete:  {"operate_process", new(simulator.OpUnhost)},
			OnReadRun: {"operate_process", new(simulator.OpQuery)},
			OnKeepRun: {"operate_process", new(simulator.OpHost)},
			OnWait:    {"get_proc_result", new(simulator.OpStart)},
			OnStatus:  {"operate_process", new(simulator.OpQuery)},
		}
	default: // the ESB
	}
	for on, c := range Commands {
		if on != OnWait {
			gse[on] = Target{operate, new(c.Op)}
		}
	}
	found, ok := gse[o]
	if !ok {
		return nil
	}
	return &found
}

// Calls are those of a target.
func (t Target) Calls(all simulator.CallList) simulator.CallList {
	return slices.DeleteFunc(all.Of(t.API), func(c simulator.Call) bool { return t.Op != nil && c.Op != *t.Op })
}

// Process is how the simulator knows the process of the matrix.
func (f Face) Process() (namespace, name string) {
	if f == FaceJOB {
		return "job", "/srv/web/nginx"
	}
	return "web", "nginx"
}

// settings are the provider block that leads to a simulator by this face.
func (s *Sim) SettingsFor(f Face) map[string]any {
	settings := s.Settings()
	settings["gateway"] = string(FaceESB)
	if f == FaceGateway {
		settings["gateway"] = string(FaceGateway)
	}
	settings["max_retries"] = 2
	return settings
}

// Model points an object at the process.
func (f Face) Reference(start string, hosts int) map[string]any {
	addresses := make(map[string]string, hosts)
	for n := 1; n <= hosts; n++ {
		addresses[HostKey(n)] = Address(n)
	}
	if f == FaceJOB {
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

// TypeName is the type of the object that an operation is about.
func (f Face) TypeName(o Operation) string {
	prefix := "bk_"
	if f == FaceJOB {
		prefix = "bk_job_"
	}
	switch {
	case o.Operates():
		return prefix + "process_operation"
	case o == OnStatus, o == OnCached:
		return prefix + "process_status"
	default:
		return prefix + "hosted_process"
	}
}

func HostKey(n int) string { return "web-" + strconv.Itoa(n) }

// ResultAPI is where the result of a task is asked for.
func (f Face) ResultAPI() string {
	if f == FaceJOB {
		return "get_proc_result"
	}
	return "get_proc_operate_result_v2"
}

// Answers tells whether an operation is a call that answers for each host at once,
// and is repeated where that answer is 115. The others become tasks.
func (f Face) Answers(o Operation) bool {
	return f == FaceESB && slices.Contains([]Operation{OnCreate, OnUpdate, OnKeepRun, OnDelete}, o)
}

// Operates tells operations of the process itself.
func (o Operation) Operates() bool {
	_, is := Commands[o]
	return is && o != OnRun
}

// Reads tells operations of a data source.
func (o Operation) Reads() bool { return o == OnStatus || o == OnCached }

func (o Operation) Updates() bool { return o == OnUpdate || o == OnKeepRun }

func (o Operation) Refreshes() bool { return o == OnRead || o == OnAsk || o == OnReadRun }

// Looks tells operations that leave no state behind.
func (o Operation) Looks() bool {
	return slices.Contains([]Operation{OnStatus, OnCached, OnImport, OnList}, o)
}

// First tells operations that begin without a state.
func (o Operation) First() bool {
	return o.Operates() || slices.Contains([]Operation{OnCreate, OnConfirm, OnHost, OnRun}, o)
}

// OnCLI tells whether a CLI can be asked for the operation. A list takes a later one
// than these tests may have, and the import of what cannot be found another
// configuration than the one that goes on from it.
func (o Operation) OnCLI() bool { return o != OnImport && o != OnList }

// Method is how timeouts call what an operation does.
func (o Operation) Method() string {
	switch o {
	case OnRead, OnAsk, OnReadRun, OnStatus, OnCached:
		return "read"
	case OnUpdate, OnKeepRun:
		return "update"
	case OnDelete:
		return "delete"
	default:
		return "create"
	}
}

// ExitCode is that of a plan with -detailed-exitcode.
func (k PlanKind) ExitCode() int {
	if k == PlanNothing {
		return 0
	}
	return 2
}
