package providertest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Face is a way to reach the platform, and the objects that use it. The fault matrix covers all faces,
// whatever BK_TEST_GATEWAY says.
type Face string

// The faces.
const (
	FaceESB     Face = "esb"
	FaceGateway Face = "apigw"
	FaceJOB     Face = "job"
)

// Operation is what Terraform is doing when a fault occurs: a column of the matrix.
type Operation string

// Create, read, update and delete of a resource, and the read of a data source.
const (
	OnCreate Operation = "create"
	OnRead   Operation = "refresh"
	OnUpdate Operation = "update"
	OnDelete Operation = "destroy"
	OnStatus Operation = "status"
)

// Operations of the process itself.
const (
	OnOperate Operation = "start"
	OnStop    Operation = "stop"
	OnKill    Operation = "kill"
	OnRestart Operation = "restart"
	OnReload  Operation = "reload"
)

// Operations that make an additional request.
const (
	// OnAsk is a refresh that asks the agents, because the cached status looks changed.
	OnAsk Operation = "refresh, agents asked"
	// OnAskFirst is a create that asks the agents before it registers. OnReadOwner is a destroy that
	// reads the owners of the registrations. No refresh precedes it, because that reads the same.
	OnAskFirst  Operation = "create, agents asked"
	OnReadOwner Operation = "destroy, owner read"
	// OnConfirm and OnWait read the result of a task, which can fail on its own.
	OnConfirm Operation = "create, result asked for"
	OnWait    Operation = "start, result asked for"
	// OnHost and OnRun host or start after registering, and OnReadRun and OnKeepRun read more, because of
	// their ensure. All others have ensure = "registered".
	OnHost    Operation = "create, hosted"
	OnRun     Operation = "create, running"
	OnReadRun Operation = "refresh, running"
	OnKeepRun Operation = "update, running"
	// OnCached, OnImport and OnList read only the platform's cached status.
	OnCached Operation = "status, cached"
	OnImport Operation = "import"
	OnList   Operation = "list"
)

// Command is an operation of the process: its number in the API, and its name.
type Command struct {
	Op   int
	Name string
}

// Commands are the operations of the process in the matrix.
var Commands = map[Operation]Command{
	OnOperate: {simulator.OpStart, "start"}, OnWait: {simulator.OpStart, "start"}, OnRun: {simulator.OpStart, "start"},
	OnStop: {simulator.OpStop, "stop"}, OnKill: {simulator.OpKill, "kill"},
	OnRestart: {simulator.OpRestart, "restart"}, OnReload: {simulator.OpReload, "reload"},
}

// Path returns the operation as part of a test's name.
func (o Operation) Path() string { return strings.NewReplacer(", ", "-", " ", "-").Replace(string(o)) }

// Target is a request on which an operation depends.
type Target struct {
	API string
	Op  *int // op type; nil if the API has none
}

// Target returns the request on which an operation depends, nil if it makes none on this face.
func (f Face) Target(o Operation) *Target {
	gse := map[Operation]Target{
		OnCreate:    {API: "register_proc_info"},
		OnAskFirst:  {"operate_proc_v2", new(simulator.OpQuery)},
		OnRead:      {API: "get_proc_status_v2"},
		OnAsk:       {"operate_proc_v2", new(simulator.OpQuery)},
		OnUpdate:    {API: "update_proc_info"},
		OnDelete:    {API: "unregister_proc_info"},
		OnReadOwner: {API: "get_proc_status_v2"},
		OnWait:      {"get_proc_operate_result_v2", new(simulator.OpStart)},
		OnHost:      {"operate_proc_v2", new(simulator.OpHost)},
		OnReadRun:   {API: "get_proc_status_v2"},
		OnKeepRun:   {API: "update_proc_info"},
		OnStatus:    {"operate_proc_v2", new(simulator.OpQuery)},
		OnCached:    {API: "get_proc_status_v2"},
		OnImport:    {API: "sync_proc_status"},
		OnList:      {API: "sync_proc_status"},
	}
	operate := "operate_proc_v2"
	switch f {
	case FaceGateway:
		gse[OnCreate] = Target{"operate_proc_multi", new(simulator.OpHost)}
		gse[OnConfirm] = Target{"get_proc_operate_result_v2", new(simulator.OpHost)}
		gse[OnUpdate] = Target{"operate_proc_multi", new(simulator.OpHost)}
		gse[OnDelete] = Target{"operate_proc_multi", new(simulator.OpUnhost)}
		gse[OnKeepRun] = gse[OnUpdate]
		delete(gse, OnHost) // at the gateway, hosting is what registers
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

// Calls returns the calls to the target.
func (t Target) Calls(all simulator.CallList) simulator.CallList {
	return slices.DeleteFunc(all.Of(t.API), func(c simulator.Call) bool { return t.Op != nil && c.Op != *t.Op })
}

// Process returns the name of the matrix's process in the simulator.
func (f Face) Process() (namespace, name string) {
	if f == FaceJOB {
		return "job", "/srv/web/nginx"
	}
	return "web", "nginx"
}

// SettingsFor returns a provider block for the simulator on a face.
func (s *Sim) SettingsFor(f Face) map[string]any {
	settings := s.Settings()
	settings["gateway"] = string(FaceESB)
	if f == FaceGateway {
		settings["gateway"] = string(FaceGateway)
	}
	settings["max_retries"] = 2
	return settings
}

// Reference returns the part of an object's configuration that identifies the process, on hosts web-1 to
// web-n.
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

// TypeName returns the type of the object for an operation.
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

// HostKey returns the key of host n.
func HostKey(n int) string { return "web-" + strconv.Itoa(n) }

// ResultAPI returns the API for the result of a task.
func (f Face) ResultAPI() string {
	if f == FaceJOB {
		return "get_proc_result"
	}
	return "get_proc_operate_result_v2"
}

// Answers reports whether an operation is a call that directly returns a result for each host. It is repeated
// for hosts with the result 115. Other calls start tasks.
func (f Face) Answers(o Operation) bool {
	return f == FaceESB && slices.Contains([]Operation{OnCreate, OnUpdate, OnKeepRun, OnDelete}, o)
}

// Operates reports whether it is an operation of the process itself.
func (o Operation) Operates() bool {
	_, is := Commands[o]
	return is && o != OnRun
}

// Reads reports whether it is the read of a data source.
func (o Operation) Reads() bool { return o == OnStatus || o == OnCached }

// Creates reports whether it is the create of a hosted process.
func (o Operation) Creates() bool { return o.BeginsWithoutState() && !o.Operates() }

// Updates reports whether it is the update of a resource.
func (o Operation) Updates() bool { return o == OnUpdate || o == OnKeepRun }

// Destroys reports whether it is the destroy of a hosted process.
func (o Operation) Destroys() bool { return o == OnDelete || o == OnReadOwner }

// Refreshes reports whether it is the refresh of a resource.
func (o Operation) Refreshes() bool { return o == OnRead || o == OnAsk || o == OnReadRun }

// Stateless reports whether it does not change the state of a resource.
func (o Operation) Stateless() bool {
	return slices.Contains([]Operation{OnStatus, OnCached, OnImport, OnList}, o)
}

// BeginsWithoutState reports whether it begins without a state.
func (o Operation) BeginsWithoutState() bool {
	return o.Operates() || slices.Contains([]Operation{OnCreate, OnAskFirst, OnConfirm, OnHost, OnRun}, o)
}

// OnCLI reports whether the tests with a CLI include it. A list may need a newer CLI, and an import that finds
// nothing needs another configuration than the steps after it.
func (o Operation) OnCLI() bool { return o != OnImport && o != OnList }

// Method returns the attribute of timeouts that applies to it.
func (o Operation) Method() string {
	switch o {
	case OnRead, OnAsk, OnReadRun, OnStatus, OnCached:
		return "read"
	case OnUpdate, OnKeepRun:
		return "update"
	case OnDelete, OnReadOwner:
		return "delete"
	default:
		return "create"
	}
}

// ExitCode returns the exit code of a plan with -detailed-exitcode.
func (k PlanKind) ExitCode() int {
	if k == PlanNothing {
		return 0
	}
	return 2
}
