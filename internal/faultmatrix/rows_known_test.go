package faultmatrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func keyFaults() []fault {
	return alike(fault{pattern: patternAsked, faces: gatewayFace}, []fault{
		{name: "keys-of-agents", title: "Hosts are given by address, and their keys have the agent ids", prepare: (*faultRun).addAgents, arrange: injects(simulator.Fault{Keys: "agent"})},
		{
			name: "keys-of-addresses", title: "Hosts are given by agent id, and their keys fall back to `cloud:ip`", address: func(_ operation, n int) string { return agentID(n) },
			prepare: (*faultRun).addAgents, arrange: injects(simulator.Fault{Keys: "address"}),
		},
	})
}

func consoleFaults() []fault {
	stop := func(r *faultRun) { r.second(r.sim.StopProcess) }
	return slices.Concat(
		alike(fault{pattern: patternConsole, faces: gseFaces}, []fault{
			{name: "stopped-at-console", title: "Another tool stops the process on a host", hit: []int{2}, arrange: stop},
			{
				name: "stopped-at-console-job", title: "Another tool stops the process on a host of JOB, where registered is hosted", hit: []int{2}, arrange: stop,
				except: map[operation]cell{
					onRead:    {ending: drifts, reason: "unregistered", tries: 2},
					onReadRun: {ending: drifts, reason: "unregistered", tries: 2},
					onKeepRun: {ending: well, tries: 2},
				},
				faces: jobFace,
			},
			{
				name: "stopped-during-plan", title: "Another tool stops the process on a host while a plan is open", hit: []int{2}, between: stop,
				except: map[operation]cell{onRead: {}, onReadRun: {}}, faces: faces,
			},
		}),
		alike(fault{pattern: patternConsoleGone, faces: gseFaces}, []fault{
			{name: "unregistered-during-plan", title: "Another tool unregisters the process on a host while a plan is open", hit: []int{2}, between: (*faultRun).unregisterSecond},
			// Promised in beliefs.md: An update takes a second call on a host that another tool unregistered
			{
				name: "unregistered-during-plan-esb", title: "The same through an ESB that refuses to update what is not registered", hit: []int{2}, between: (*faultRun).unregisterSecond,
				prepare: func(r *faultRun) { r.sim.UpdateRefuses = true }, faces: esbOnlyFace,
			},
		}),
	)
}

func listFaults() []fault {
	return alike(fault{faces: gseFaces}, []fault{
		{
			name: "row-not-registered", title: "A row says that its process is not registered (status 0, in place of 1 or 2)", hit: allHosts, unlisted: allHosts, state: fleet.Unregistered,
			arrange: func(r *faultRun) {
				for _, api := range []string{"get_proc_status_v2", "sync_proc_status"} {
					r.sim.Inject(simulator.Fault{API: api, Replace: map[string]any{"data/proc_infos/*/status": 0, "data/proc_infos/*/flag": 0}})
				}
			},
			pattern: patternRowZero,
		},
		{name: "rows-lag", title: "Rows still show what was true before a change", arrange: func(r *faultRun) { r.sim.LagCalls = 1000 }, pattern: patternRowsLag},
	})
}

// declaredFaults are configurations that the platform would refuse, would silently change, or would be harmed by.
func declaredFaults() []fault {
	in := func(object, member string, value any) func(map[string]any) {
		return func(config map[string]any) {
			within, _ := config[object].(map[string]any)
			within[member] = value
		}
	}
	zero := func(object, member string) func(map[string]any) {
		return func(config map[string]any) {
			spec, _ := config["spec"].(map[string]any)
			within, _ := spec[object].(map[string]any)
			within[member] = 0
		}
	}
	host := func(address string) func(map[string]any) {
		return func(config map[string]any) {
			hosts, _ := config["hosts"].(map[string]string)
			hosts["web-2"] = address
		}
	}
	row := func(name, title, says string, declare func(map[string]any), by ...face) fault {
		return fault{name: name, title: title, says: says, pattern: patternDeclared, faces: by, declare: declare}
	}
	specless := row("no-spec", "A live status is asked for without the spec that asking the agents takes", "Status Read From The Cache",
		func(config map[string]any) { config["spec"] = nil }, gseFaces...)
	specless.pattern, specless.sends, specless.state = patternFromFile, "get_proc_status_v2", fleet.Running
	agentless := row("agent-id-esb", "A host is given by agent id, which the ESB does not take", "only GSE's API gateway accepts agent ids",
		host("0200000007525400f355781710390005465c"), providertest.FaceESB, providertest.FaceJOB)
	agentless.except = map[operation]cell{onUpdate: {}, onStatus: {}} // found after a refresh, once the provider block is known
	ended := row("one-shot-running", "A one-shot process with `ensure = \"running\"`", "goes on running", func(config map[string]any) {
		config["ensure"] = "running"
		setAutoType(config, 2)
	})
	ended.except = map[operation]cell{onOperate: {}, onStatus: {}}
	return []fault{
		row("start-check-zero", "`start_check_secs` is 0", "start_check_secs value must be at least 1", zero("monitor_policy", "start_check_secs"), gseFaces...),
		row("op-timeout-zero", "`op_timeout` is 0", "op_timeout value must be at least 1", zero("monitor_policy", "op_timeout"), gseFaces...),
		row("cpu-zero", "`cpu` is 0", "the agent would stop the process as soon as it runs", zero("resource", "cpu"), gseFaces...),
		row("mem-zero", "`mem` is 0", "the agent would stop the process as soon as it runs", zero("resource", "mem"), gseFaces...),
		specless,
		row("empty-host", "A host is an empty string, for which the platform would refuse the whole request", `Attribute hosts["web-2"]`, host("")),
		row("host-twice", "A host is given twice", "is the same host as", host(providertest.Address(1))),
		agentless,
		ended,
		row("job-cpu-150", "`cpu_lmt` is 150, which JOB would silently take for 0", "cpu_lmt value must be between 0 and 100", in("process", "cpu_lmt", 150), providertest.FaceJOB),
		row("job-no-pid-path", "`pid_path` is blank, which JOB's documents allow and its servers refuse", `process.pid_path`, in("process", "pid_path", ""), providertest.FaceJOB),
		row("job-no-setup-path", "`setup_path` is blank, which JOB's documents allow and its servers refuse", `process.setup_path`, in("process", "setup_path", ""), providertest.FaceJOB),
	}
}

func selectorFaults() []fault {
	return []fault{{
		name: "manage-proc", title: "JOB's `manage_proc` stops the process instead of registering it, and asks for its status instead of unregistering it, so it is not called",
		arrange: func(r *faultRun) { r.sim.ManageProcBug = true },
		after: func(r *faultRun) {
			n := r.sim.Calls().Count("manage_proc")
			providertest.Check(r.t, n == 0, "manage_proc was called %d times", n)
		},
		pattern: patternControl, faces: jobFace,
	}}
}

func idleFaults() []fault {
	return slices.Concat(
		[]fault{
			{
				name: "nothing-to-stop", title: "There is nothing to stop (829), and the process is still hosted (`isAuto` is true): it is unhosted as well", arrange: (*faultRun).hostAll,
				except: map[operation]cell{onOperate: {}},
				after: func(r *faultRun) {
					for _, n := range providertest.HostNumbers(r.hosts()) {
						providertest.Check(r.t, !r.at(n).Hosted, "%s is still hosted", providertest.HostKey(n))
					}
				},
				pattern: patternOperationWell,
			},
		},
		alike(fault{pattern: patternOperationFails}, []fault{
			{
				name: "failed-start-hosts", title: "The start fails on a host (65535), and the process is hosted anyway (a query says `isAuto` is true)",
				says: "65535, the command failed", hit: []int{2}, fault: &simulator.Fault{Code: new(65535), Message: "no such file", StillHosts: true},
				except: map[operation]cell{onStop: {}, onKill: {}, onRestart: {}, onReload: {}},
			},
			{
				name: "command-failed-everywhere", title: "The command fails on every host (65535)", says: "65535, the command failed", fault: &simulator.Fault{Code: new(65535), Message: "no space left on device"},
				except: nothingBut(patternOperationFails, map[operation]cell{
					onRun: {ending: taints, reason: notRunning, tries: 1}, onOperate: {ending: fails, tries: 1},
				}),
			},
		}),
		[]fault{
			mixed("mixed-start", "Every code in one answer to a start: 0, 115 forever, 828, 829, 836, 850, 65535 and -1", onOperate, 3),
			mixed("mixed-stop", "Every code in one answer to a stop: 0, 115 forever, 828, 829, 836, 850, 65535 and -1", onStop, 0),
		},
	)
}

// mixed is a fault with another code on each host: 0 on the first one, and on one host a code that means success. After 829 the agent is asked
// whether the process is still hosted, for which another host leaves no time here.
func mixed(name, title string, on operation, well int) fault {
	codes := map[int]int{3: 828, 4: 829, 5: 836, 6: 850, 7: 65535, 8: -1}
	f := fault{
		name: name, title: title, says: "65535, the command failed", pattern: patternMixed, hosts: 8, except: map[operation]cell{onOperate: {}, onStop: {}},
		arrange: func(r *faultRun) {
			at := r.face.Target(r.on)
			r.sim.Inject(simulator.Fault{API: at.API, Op: at.Op, Hosts: r.addresses([]int{2}), Pending: -1})
			for n, code := range codes {
				// If the code means that the process is as wanted, apply the operation.
				r.sim.Inject(simulator.Fault{API: at.API, Op: at.Op, Hosts: r.addresses([]int{n}), Code: new(code), Apply: n == well})
			}
		},
	}
	delete(f.except, on)
	for _, n := range providertest.HostNumbers(f.hosts) {
		if n != 1 && n != well {
			f.hit = append(f.hit, n)
		}
	}
	return f
}

func (r *faultRun) hostAll() {
	r.registerAll()
	r.each(r.sim.StopProcess)
	r.each(r.sim.Host)
}

// nothingBut returns exceptions: the given cells, the pattern's cells for the operations in usual, and nothing else.
func nothingBut(p *pattern, cells map[operation]cell, usual ...operation) map[operation]cell {
	except := make(map[operation]cell)
	for on := range p.cells {
		if !slices.Contains(usual, on) {
			except[on] = cell{}
		}
	}
	maps.Copy(except, cells)
	return except
}

func ownershipFaults() []fault {
	onDestroy := func(p *pattern, c cell) map[operation]cell {
		return nothingBut(p, map[operation]cell{onDelete: c})
	}
	return slices.Concat(
		alike(fault{pattern: patternTaken, faces: gseFaces}, []fault{
			{
				name: "other-resource", title: "Another resource has registered the process on a host since", says: "Hosts Belong To Another Resource", hit: []int{2}, arrange: (*faultRun).takeOver,
				except: nothingBut(patternTaken, map[operation]cell{onDelete: {ending: warns, tries: 1}}, onRead), after: (*faultRun).expectTheirs,
			},
		}),
		[]fault{
			{
				// Promised in shared-hosts.md: If someone else has unregistered the process, what still runs is nevertheless
				// stopped or killed, as `on_destroy` says.
				name:  "unregistered-on-destroy",
				title: "Another tool unregisters the process on a host, and `on_destroy` is `\"stop\"`: it is still stopped", hit: []int{2}, always: true,
				declare: func(config map[string]any) { config["on_destroy"] = "stop" },
				arrange: func(r *faultRun) {
					r.each(r.sim.StartProcess)
					r.second(r.sim.Unregister)
					r.second(r.sim.Unhost)
					if !r.at(2).Running {
						r.t.Fatalf("it is %+v", r.at(2))
					}
				},
				except: onDestroy(patternUnregistered, cell{ending: well, tries: 1}),
				after: func(r *faultRun) {
					for _, n := range allHosts {
						providertest.Check(r.t, !r.at(n).Running, "%s still runs", providertest.HostKey(n))
					}
				},
				pattern: patternUnregistered,
			},
		},
		alike(fault{pattern: patternOneFails, faces: gseFaces}, []fault{
			{
				name: "machine-gone", title: "A host's agent answers no call (117), and `forget_unreachable` is true", says: "Unreachable Hosts Forgotten", hit: []int{2}, arrange: func(r *faultRun) { r.sim.SetReachable(providertest.Address(2), false) }, always: true,
				declare: func(config map[string]any) { config["forget_unreachable"] = true }, except: onDestroy(patternOneFails, cell{ending: warns, tries: 1}),
			},
		}),
	)
}

// takeOver registers the process on host 2 by another resource, of another configuration.
func (r *faultRun) takeOver() {
	config := r.face.Reference("./theirs.sh", matrixHosts)
	config["hosts"], config["adopt_existing"] = map[string]string{"theirs": providertest.Address(2)}, true
	theirs := providertest.ConfiguredWith(r.t, r.sim.SettingsFor(r.face)).CoreOf(providertest.HostedType, &providertest.Kept{})
	if _, said := theirs.Apply(config); len(said) > 0 {
		r.t.Fatal(said)
	}
	r.sim.ResetCalls()
}

// expectTheirs: a destroy leaves what another resource registered.
func (r *faultRun) expectTheirs() {
	if p := r.at(2); r.on.Destroys() && (!p.Registered || !p.Hosted || !strings.Contains(string(p.Spec), "./theirs.sh")) {
		r.t.Errorf("the other resource's is %+v", p)
	}
}

func agentID(n int) string { return fmt.Sprintf("0200000007525400f3557817103900054%03d", n) }

func (r *faultRun) addAgents() {
	for _, n := range providertest.HostNumbers(r.hosts()) {
		r.sim.AddAgent(agentID(n), providertest.Address(n))
	}
}

// agentIDInUpdates names hosts by address in a create, and by agent id from then on.
func agentIDInUpdates(o operation, n int) string {
	if o.Updates() {
		return agentID(n)
	}
	return providertest.Address(n)
}

// oneSpec declares the same spec before and in an update, which then only renames hosts.
func oneSpec(config map[string]any) { setStart(config, "./other.sh") }

func setStart(config map[string]any, start string) {
	spec, _ := config["spec"].(map[string]any)
	control, _ := spec["control"].(map[string]any)
	control["start_cmd"] = start
}

// renameAlone declares the same as before, by agent ids.
func renameAlone(config map[string]any) {
	setStart(config, "./start.sh")
	hosts, _ := config["hosts"].(map[string]string)
	for _, n := range allHosts {
		if key := providertest.HostKey(n); hosts[key] != "" {
			hosts[key] = agentID(n)
		}
	}
}

// nameFaults are about machines that have an address and an agent id.
//
// Promised in cookbook.md: its process goes on with the same pid. No operation runs for it.
// Promised in changing-hosts.md: Its process goes on running with the same PID, and no operation runs on it.
// Promised in changing-hosts.md: If the platform cannot be asked for the names, nothing is changed, and the apply ends with an error.
// Promised in changing-hosts.md: A machine that is listed under both of its names is refused before anything is changed.
func nameFaults() []fault {
	renamed := fault{
		name: "renamed", title: "Hosts that were given by address are now given by agent id, and the platform knows both",
		pattern: patternNames, faces: gatewayFace, address: agentIDInUpdates, prepare: (*faultRun).addAgents, always: true, declare: oneSpec,
		arrange: (*faultRun).notePIDs, after: (*faultRun).expectRenamed,
	}
	perName := renamed
	perName.name, perName.title = "renamed-entries", "Hosts that were given by address are now given by agent id, and the platform keeps an entry for each"
	perName.prepare = func(r *faultRun) { r.sim.EntryPerName = true; r.addAgents() }
	return slices.Concat(
		[]fault{renamed, perName},
		alike(fault{pattern: patternNames, faces: gatewayFace}, []fault{
			{
				name: "machine-twice", title: "A machine is given by its address and by its agent id", says: "name each machine once", prepare: (*faultRun).addAgents,
				declare: func(config map[string]any) {
					hosts, _ := config["hosts"].(map[string]string)
					hosts["web-1-again"] = agentID(1)
				},
				except: nothingBut(patternNames, map[operation]cell{onCreate: {ending: fails}, onUpdate: {ending: stays, planned: true}, onRestart: {ending: fails, says: "name the same machine"}}),
			},
			{
				name: "names-unread", title: "Hosts that were given by address are now given by agent id, and the names cannot be asked for (HTTP 403)",
				says: "whether they are the same machines could not be asked", prepare: (*faultRun).addAgents, declare: renameAlone, between: injects(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403}),
				except: nothingBut(patternNames, map[operation]cell{onUpdate: {ending: stays, planned: true}}),
			},
			{
				name: "other-selector", title: "Hosts that were given by address are now given by agent id, and the platform treats them as other hosts", prepare: func(r *faultRun) { r.sim.AdmitAgents = true },
				declare: renameAlone, says: "the platform does not say whether it is one machine with", except: nothingBut(patternNames, map[operation]cell{onUpdate: {ending: stays}}),
			},
		}),
	)
}

func (r *faultRun) pidsNow() []int {
	var pids []int
	for _, n := range providertest.HostNumbers(r.hosts()) {
		pids = append(pids, r.machine(n).PID)
	}
	return pids
}

func (r *faultRun) machine(n int) simulator.MachineProcess {
	namespace, name := r.face.Process()
	return r.sim.Machine(providertest.Address(n)).Process(namespace, name)
}

func (r *faultRun) notePIDs() { r.pids = r.pidsNow() }

// expectRenamed: the process is hosted, has one row in the cached status, and was not operated on.
func (r *faultRun) expectRenamed() {
	same(r.t, "process ids", r.pids, r.pidsNow())
	for _, n := range providertest.HostNumbers(r.hosts()) {
		p := r.machine(n)
		if !p.Hosted || len(p.Entries) != 1 || r.sim.EntryPerName && p.Entries[0].Host != agentID(n) {
			r.t.Errorf("%s is %+v", providertest.HostKey(n), p)
		}
	}
}
