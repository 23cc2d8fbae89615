package faultmatrix

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func keyFaults() []fault {
	return alike(fault{pattern: patternAsked, faces: esbOnlyFace}, []fault{
		{name: "keys-supplier", title: "Every key has the supplier's id, whatever the document says", arrange: injects(simulator.Fault{Keys: "supplier"})},
		{name: "keys-no-supplier", title: "No key has the supplier's id, whatever the document says", arrange: injects(simulator.Fault{Keys: "no-supplier"})},
		{
			name: "key-twice", title: "A host's key comes twice in an answer: the last one counts", except: map[operation]cell{onRead: {ending: well, tries: 1, faces: jobFace}},
			arrange: func(r *faultRun) {
				r.sim.Inject(simulator.Fault{FirstKeys: map[string]any{
					r.resultKey(2): map[string]any{"error_code": 65535, "error_msg": "the first one", "content": ""},
				}})
			},
			faces: faces,
		},
		{name: "keys-of-agents", title: "Hosts are given by address, and their keys have the agent ids", prepare: (*faultRun).addAgents, arrange: injects(simulator.Fault{Keys: "agent"}), faces: gatewayFace},
		{
			name: "keys-of-addresses", title: "Hosts are given by agent id, and their keys fall back to `cloud:ip`", address: func(_ operation, n int) string { return agentID(n) },
			prepare: (*faultRun).addAgents, arrange: injects(simulator.Fault{Keys: "address"}), faces: gatewayFace,
		},
		{
			name: "keys-ipv6", title: "IPv6 addresses, whose colons are in the keys", except: map[operation]cell{onRead: {ending: well, tries: 1}},
			address: func(_ operation, n int) string { return fmt.Sprintf("0:2001:db8::%d", n) }, prepare: func(r *faultRun) { r.sim.Admit(netip.MustParsePrefix("2001:db8::/32")) },
			faces: []face{providertest.FaceGateway, providertest.FaceJOB},
		},
	})
}

func consoleFaults() []fault {
	stop := func(r *faultRun) { r.second(r.sim.StopProcess) }
	return slices.Concat(
		alike(fault{pattern: patternConsole, faces: gseFaces}, []fault{
			{name: "stopped-at-console", title: "Somebody stops the process on a host", hit: []int{2}, arrange: stop},
			{
				name: "stopped-at-console-job", title: "Somebody stops the process on a host of JOB, where registered is hosted", hit: []int{2}, arrange: stop,
				except: map[operation]cell{
					onRead:    {ending: drifts, reason: "unregistered", tries: 2},
					onReadRun: {ending: drifts, reason: "unregistered", tries: 2},
					onKeepRun: {ending: well, tries: 2},
				},
				faces: jobFace,
			},
			{
				name: "stopped-during-plan", title: "Somebody stops the process on a host while a plan is open", hit: []int{2}, between: stop,
				except: map[operation]cell{onRead: {}, onReadRun: {}}, faces: faces,
			},
		}),
		alike(fault{pattern: patternConsoleGone, faces: gseFaces}, []fault{
			{name: "unregistered-during-plan", title: "Somebody unregisters the process on a host while a plan is open", hit: []int{2}, between: (*faultRun).unregisterSecond},
			// Promised in beliefs.md: An update fails on a host whose registration somebody removed
			{
				name: "unregistered-during-plan-esb", title: "The same through an ESB that refuses to update what is not registered", says: "process is not registered", hit: []int{2}, between: (*faultRun).unregisterSecond,
				prepare: func(r *faultRun) { r.sim.UpdateRefuses = true }, except: map[operation]cell{onUpdate: {ending: fails, reason: "other_spec", tries: 1}}, faces: esbOnlyFace,
			},
		}),
	)
}

func listFaults() []fault {
	return alike(fault{faces: gseFaces}, []fault{
		{name: "rows-twice", title: "A row moves between pages while they are read: one appears twice, and another on none", arrange: (*faultRun).moveRows, pattern: patternMoved},
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

// moveRows creates a namespace of two pages. When it is read first, a row of the first page is on the second as well, and
// another row on no page.
func (r *faultRun) moveRows() {
	page := []any{}
	row := func(name, address string) any {
		return map[string]any{
			"meta": map[string]any{"namespace": "web", "name": name, "labels": map[string]any{}},
			"host": map[string]any{"ip": strings.TrimPrefix(address, "0:"), "bk_cloud_id": 0}, "bk_agent_id": "", "status": 1, "flag": 1, "isauto": true,
		}
	}
	for n := range 1000 - r.hosts() {
		page = append(page, row(fmt.Sprintf("apache-%d", n), "0:10.9.0.1"))
	}
	for _, n := range providertest.HostNumbers(r.hosts()) {
		page = append(page, row("nginx", r.address(n)))
	}
	r.sim.Inject(simulator.Fault{API: "sync_proc_status", Replace: map[string]any{"data/count": 1001}})
	for n, rows := range [][]any{page, page[:1], page, {row("apache", "0:10.9.0.1")}} {
		r.sim.Inject(simulator.Fault{API: "sync_proc_status", Skip: n, Times: 1, Replace: map[string]any{"data/proc_infos": rows}})
	}
}

// declaredFaults are configurations that the platform would refuse, or silently change, or come to harm by.
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
	agentless.except = map[operation]cell{onUpdate: {}, onStatus: {}} // found once the provider block is known, after a refresh
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
		name: "manage-proc", title: "JOB's `manage_proc` stops the process where it should register it, and asks for its status where it should unregister it: it is not called",
		arrange: func(r *faultRun) { r.sim.ManageProcBug = true },
		after: func(r *faultRun) {
			if n := r.sim.Calls().Count("manage_proc"); n > 0 {
				r.t.Errorf("manage_proc was called %d times", n)
			}
		},
		pattern: patternControl, faces: jobFace,
	}}
}

func contentFaults() []fault {
	row := func(name, title, content string) fault {
		return fault{name: name, title: title, pattern: patternOddContent, hit: []int{2}, fault: &simulator.Fault{Code: new(simulator.CodeOK), Content: content}}
	}
	stopped := row("pid-zero", "A query's `content` has the pid 0 (of what does not run, in place of -1)", `{"process":[{"instance":[{"pid":0,"isAuto":true,"register_time":4000000000}]}]}`)
	stopped.state = fleet.Stopped
	return []fault{
		row("several-instances", "A query's `content` has several instances, of which one runs",
			`{"process":[{"instance":[{"pid":-1,"isAuto":true},{"pid":4711,"isAuto":true,"register_time":4000000000}]}]}`),
		stopped,
	}
}

func idleFaults() []fault {
	return slices.Concat(
		[]fault{
			{
				name: "nothing-to-stop", title: "There is nothing to stop (829), and the process is still hosted (`isAuto` is true): it is unhosted as well", arrange: (*faultRun).hostAll,
				except: map[operation]cell{onOperate: {}},
				after: func(r *faultRun) {
					for _, n := range providertest.HostNumbers(r.hosts()) {
						if r.at(n).Hosted {
							r.t.Errorf("%s is still hosted", providertest.HostKey(n))
						}
					}
				},
				pattern: patternOperationWell,
			},
		},
		alike(fault{pattern: patternOperationFails}, []fault{
			{
				name: "failed-start-hosts", title: "The start fails on a host (65535), and the process is hosted anyway (a query says `isAuto` is true)",
				says: "65535, the command failed; it is hosted all the same, so the agent may yet start it", hit: []int{2}, fault: &simulator.Fault{Code: new(65535), Message: "no such file", StillHosts: true},
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

// mixed has a host for each code. Besides the first, which has 0, it may be well on one of them. After a 829 the agent
// is asked whether the process is still hosted, for which another host leaves no time here.
func mixed(name, title string, on operation, well int) fault {
	codes := map[int]int{3: 828, 4: 829, 5: 836, 6: 850, 7: 65535, 8: -1}
	f := fault{
		name: name, title: title, says: "65535, the command failed", pattern: patternMixed, hosts: 8, except: map[operation]cell{onOperate: {}, onStop: {}},
		arrange: func(r *faultRun) {
			at := r.face.Target(r.on)
			r.sim.Inject(simulator.Fault{API: at.API, Op: at.Op, Hosts: r.addresses([]int{2}), Pending: -1})
			for n, code := range codes {
				// Where the code says that it is as wanted, so it is.
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

func outputFaults() []fault {
	row := func(name, title, says, message string, hides ...string) fault {
		return fault{
			name: name, title: title, says: says, pattern: patternOperationFails, hit: []int{2}, hides: hides,
			fault: &simulator.Fault{Code: new(65535), Message: message},
		}
	}
	return []fault{
		row("output-lines", "A command fails (65535) and prints more lines than are shown: the last ones are", "… one two three four five",
			"hello\r\n\r\none\ntwo\nthree\nfour\nfive\n", "hello"),
		row("output-long", "A command fails (65535) and prints a line of 10,000 characters", " "+strings.Repeat("x", 160)+"…",
			strings.Repeat("x", 10000), strings.Repeat("x", 161)),
		row("output-mangled", "A command fails (65535) and prints text in the wrong encoding, and control characters of the terminal",
			"ÃÃ\uFFFD[31m", "Ã\u0084Ã\u009c\uFFFD\x1b[31m\x07", "\x1b", "\x07", "\u0084", "\u009c"),
		row("output-secret", "A command fails (65535) and prints the credentials of the provider", "secret=***",
			"secret="+simulator.DefaultAppSecret, simulator.DefaultAppSecret),
	}
}

func (r *faultRun) hostAll() {
	r.registerAll()
	r.each(r.sim.StopProcess)
	r.each(r.sim.Host)
}
