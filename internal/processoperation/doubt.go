package processoperation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// doubt has the operations whose end was not seen, by process and address, with their tasks if known.
type doubt map[string]map[string]inDoubt

// inDoubt is an operation whose end was not seen.
type inDoubt struct {
	fleet.Task
	// Watched is the fingerprint of the spec with which the operation worked, if its host was watched for
	// less time than rollout.healthy requires. It is ignored for another spec.
	Watched string `json:"watched,omitempty"`
	// Destroy is true if a destroy sent the operation, as its on_destroy.
	Destroy bool `json:"destroy,omitempty"`
}

// isOther reports whether the operation is another one than that of a run.
func (i inDoubt) isOther(operation fleet.Operation, destroy bool) bool {
	return i.Destroy != destroy || i.ID != "" && i.Operation != operation
}

// at returns the entry of a process on a host. An operation whose host was being watched has worked.
func (d doubt) at(p place) (inDoubt, bool) {
	known, found := d[p.process][p.host.Address()]
	known.Worked = known.Worked || known.Watched != ""
	return known, found
}

// set stores the entry of a process on a host.
func (d doubt) set(p place, known inDoubt) {
	if d[p.process] == nil {
		d[p.process] = make(map[string]inDoubt)
	}
	d[p.process][p.host.Address()] = known
}

// dutyOfDestroy returns the duty of a destroy on hosts, with what earlier runs have left there: other
// operations, the tasks of an earlier destroy, and processes that were left hosted.
func (d doubt) dutyOfDestroy(operation fleet.Operation, process string, hosts []fleet.Host) duty {
	due := dutyOn(hosts)
	for _, host := range hosts {
		if known, _ := d.at(place{process, host.WithoutSupplier()}); known.Task != (fleet.Task{}) {
			due.addDoubt(host, known, operation, true, true)
		}
	}
	return due
}

// asDeclared returns the doubt without operations that worked with a spec other than their host's. An address
// that no member has may be another name of a host. There the spec of any member of the process is accepted.
func (d doubt) asDeclared(members []member) doubt {
	specs, byAddress := make(map[string][]string), make(map[string]map[string]string)
	for _, m := range members {
		if byAddress[m.ID] == nil {
			byAddress[m.ID] = make(map[string]string)
		}
		specs[m.ID] = append(specs[m.ID], m.Desired.Spec)
		for _, host := range m.Hosts.Hosts() {
			byAddress[m.ID][host.Address()] = m.Desired.Spec
		}
	}
	rest := d.clone()
	for process, all := range specs {
		maps.DeleteFunc(rest[process], func(address string, known inDoubt) bool {
			spec, has := byAddress[process][address]
			return known.Watched != "" && known.Watched != spec && (has || !slices.Contains(all, known.Watched))
		})
	}
	return rest
}

func (d doubt) clone() doubt {
	clone := make(doubt, len(d))
	for process, tasks := range d {
		clone[process] = maps.Clone(tasks)
	}
	return clone
}

// without returns the doubt of all other places.
func (d doubt) without(places []place) doubt {
	rest := d.clone()
	for _, p := range places {
		delete(rest[p.process], p.host.Address())
	}
	return rest
}

// done returns the places where an operation is done. Those of a destroy leave state.
func (o operation) done(results outcome) []place {
	var done []place
	for i, m := range o.members {
		for host, one := range results[i] {
			if one.OK() {
				done = append(done, place{m.ID, host.WithoutSupplier()})
			}
		}
	}
	return done
}

// accountedFor returns the places in state whose doubt a run has ended, or that are still in doubt. A reload
// does not end the doubt: it unhosts nothing.
func (o operation) accountedFor(results outcome, now doubt, inState func(string, fleet.Host) place) []place {
	var settled []place
	for i, m := range o.members {
		for _, host := range m.Hosts.Hosts() {
			_, ran := results[i][host]
			if _, still := now.at(place{m.ID, host.WithoutSupplier()}); still || ran && o.name != fleet.Reload {
				settled = append(settled, inState(m.ID, host))
			}
		}
	}
	return settled
}

// leftHosted warns of one-shot processes that runs have left hosted and that nothing will unhost any more.
func (d doubt) leftHosted() diag.Diagnostics {
	var left []string
	for process, tasks := range d {
		for address, known := range tasks {
			if known.Bare {
				left = append(left, process+" on "+address)
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return diag.Diagnostics{diag.NewWarningDiagnostic("Process Left Hosted", "An earlier apply has run the process "+strings.Join(left, ", ")+
		", and could not unhost it or did not see its end. No later apply unhosts it there, so the agent may run it again. "+
		"To end that, run the operation \"stop\" on these hosts, with an operation of its own or in GSEKit.")}
}

// newDoubt returns the doubt after a run. Hosts that were not tried keep their earlier doubt.
func newDoubt(o operation, duties []duty, results outcome) doubt {
	d := make(doubt)
	for i, m := range o.members {
		for host, r := range results[i] {
			earlier, was := duties[i].unsure[host]
			other, hindered := duties[i].others[host]
			left := inDoubt{Task: r.Underway, Destroy: o.destroys}
			switch {
			case r.Verdict == fleet.NotTried && hindered:
				left = other
			case r.Verdict == fleet.NotTried && was && r.Underway == (fleet.Task{}):
				left = earlier
				left.Destroy = o.destroys
			case r.Verdict == fleet.Pending && r.Left == fleet.Unhealthy:
				left = inDoubt{Task: fleet.Task{ID: r.TaskID, Operation: o.name}, Watched: m.Desired.Spec, Destroy: o.destroys}
				if was && earlier.ID == r.TaskID {
					left.Task = earlier.Task // it has the name by which it was sent
				}
			}
			if left == (inDoubt{}) && (r.Verdict != fleet.NotTried || !was) {
				continue // failed_hosts says everything
			}
			d.set(place{m.ID, host.WithoutSupplier()}, left)
		}
	}
	return d
}

// with returns the doubt with the entries of later in place of its own.
func (d doubt) with(later doubt) doubt {
	all := d.clone()
	for process, tasks := range later {
		if all[process] == nil {
			all[process] = make(map[string]inDoubt)
		}
		maps.Copy(all[process], tasks)
	}
	return all
}

// doubtKey is where private state keeps what failed_hosts cannot express about operations that may have worked.
const doubtKey = "doubt"

// loadDoubt returns nil if private state has no doubt.
func loadDoubt(ctx context.Context, from reference.PrivateReader) (doubt, diag.Diagnostics) {
	return reference.LoadPrivate[doubt](ctx, from, doubtKey)
}

// saveDoubt writes nothing if there is no doubt and there was none before.
func saveDoubt(ctx context.Context, to reference.PrivateWriter, before, now doubt) diag.Diagnostics {
	if len(before) == 0 && len(now) == 0 {
		return nil
	}
	return reference.SavePrivate(ctx, to, doubtKey, now)
}
