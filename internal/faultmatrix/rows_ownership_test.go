package faultmatrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// nothingBut are the exceptions of a fault that meets these operations and, as usual in its pattern, some more.
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
				// Promised in shared-hosts.md: If somebody has unregistered the process, what still runs is
				// nevertheless stopped or killed, as `on_destroy` says
				name:  "unregistered-on-destroy",
				title: "Somebody unregisters the process on a host, and `on_destroy` is `\"stop\"`: it is stopped all the same", hit: []int{2}, always: true,
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
						if r.at(n).Running {
							r.t.Errorf("%s goes on running", providertest.HostKey(n))
						}
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

// takeOver has another resource, of another configuration, register the process on host 2.
func (r *faultRun) takeOver() {
	config := r.face.Reference("./theirs.sh", matrixHosts)
	config["hosts"], config["adopt_existing"] = map[string]string{"theirs": providertest.Address(2)}, true
	theirs := providertest.ConfiguredWith(r.t, r.sim.SettingsFor(r.face)).CoreOf(providertest.HostedType, &providertest.Kept{})
	if _, said := theirs.Apply(config); len(said) > 0 {
		r.t.Fatal(said)
	}
	r.sim.ResetCalls()
}

// expectTheirs: what another resource registered is left where this one is destroyed.
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

// agentIDInUpdates: hosts are created by address, and called by agent id from then on.
func agentIDInUpdates(o operation, n int) string {
	if o.Updates() {
		return agentID(n)
	}
	return providertest.Address(n)
}

// oneSpec declares the same before an update and in it, so that it renames hosts and no more.
func oneSpec(config map[string]any) { setStart(config, "./other.sh") }

func setStart(config map[string]any, start string) {
	spec, _ := config["spec"].(map[string]any)
	control, _ := spec["control"].(map[string]any)
	control["start_cmd"] = start
}

// renameAlone declares what was declared before, by agent ids.
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
// Promised in changing-hosts.md: Where the platform cannot be asked for the names, nothing is changed, and the apply ends with an error.
// Promised in changing-hosts.md: One machine under both of its names is refused before anything is changed.
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
					hosts["twin"] = agentID(1)
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

// expectRenamed: the process is hosted and in the cached status once, and nothing was done to it.
func (r *faultRun) expectRenamed() {
	same(r.t, "process ids", r.pids, r.pidsNow())
	for _, n := range providertest.HostNumbers(r.hosts()) {
		p := r.machine(n)
		if !p.Hosted || len(p.Entries) != 1 || r.sim.EntryPerName && p.Entries[0].Host != agentID(n) {
			r.t.Errorf("%s is %+v", providertest.HostKey(n), p)
		}
	}
}
