package faultmatrix

import (
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// contentFaults are contents of a query in other forms than the documents show.
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

// idleFaults are about a process that does not run, or not as its operation ends.
func idleFaults() []fault {
	idle := (*faultRun).hostAll
	after829 := func(f simulator.Fault) func(r *faultRun) {
		return func(r *faultRun) {
			idle(r)
			aimed := f
			aimed.API, aimed.Hosts = r.face.Target(r.on).API, r.addresses([]int{2})
			r.sim.Inject(aimed)
		}
	}
	stopOnly := map[operation]cell{onRun: {}, onOperate: {}, onRestart: {}, onReload: {}}
	return slices.Concat(
		[]fault{
			{
				name: "nothing-to-stop", title: "There is nothing to stop (829), and the process is still hosted (`isAuto` is true): it is unhosted as well", arrange: idle,
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
				name: "idle-not-asked", title: "There is nothing to stop (829), and the agent does not say whether the process is still hosted",
				says: "said not to run, but whether it does, or is still hosted, is not known", hit: []int{2}, arrange: after829(simulator.Fault{Op: new(simulator.OpQuery), Unreachable: "117"}), except: stopOnly,
			},
			{
				name: "idle-not-unhosted", title: "There is nothing to stop (829), and the process cannot be unhosted", says: "65535, the command failed", hit: []int{2},
				arrange: after829(simulator.Fault{Op: new(simulator.OpUnhost), Code: new(65535)}), except: stopOnly,
			},
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

// hostAll has the process hosted on every host, and not running.
func (r *faultRun) hostAll() {
	r.registerAll()
	r.each(r.sim.StopProcess)
	r.each(r.sim.Host)
}
