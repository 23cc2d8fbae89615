package platform

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Object is a resource object that hosts a process, among the objects of this run. Its ID is its own, "" if unknown:
// an import has the owner id of whoever registered what it imports.
type Object struct {
	*Owners

	Process string // its name on a host
	ID      string
}

// Owners knows which object of this provider last registered a process, which the cached status shows only
// minutes later. Within one run two objects may have the same process (create_before_destroy, a rename without
// `moved`). The zero value is ready to use.
type Owners struct {
	// Destroys counts objects whose destroy was planned.
	Destroys atomic.Int64

	mu   sync.Mutex
	last map[registration]claim
	busy map[registration]chan struct{} // closed when the holder releases it
	// joins has the object that has announced to register. leaves has those that have announced to unregister,
	// with the registration that they leave.
	joins  map[registration]string
	leaves map[registration]map[string]fleet.Owned
	// stopped has processes that ran and were stopped before they were unregistered.
	stopped map[registration]bool
}

// registration is a process on a host.
type registration struct {
	process string // its name on a host
	host    fleet.HostID
}

// claim is the object that last registered a process on a host, with the name that it used for the host.
type claim struct {
	object string
	host   fleet.Host
}

// Hold waits until no other object changes the process on these hosts. It keeps others waiting until release is
// called. If another object holds hosts in the other form, an address or an agent id, they may be the same machines.
// Then Hold calls otherNames, and holds these hosts by their other names as well.
func (o Object) Hold(ctx context.Context, hosts []fleet.Host, otherNames func(context.Context, []fleet.Host) (map[fleet.Host]fleet.HostID, error)) (release func(), err error) {
	hosts, asked := slices.Clone(hosts), make(map[fleet.Host]bool) // names are appended
	for {
		wait, suspects := o.tryHold(hosts, asked)
		if len(suspects) > 0 {
			others, err := otherNames(ctx, suspects)
			if err != nil {
				return nil, fmt.Errorf("asking which machines are the same: %w", err)
			}
			for _, h := range hosts {
				if other, known := others[h]; known {
					hosts = append(hosts, h.Named(other))
				}
			}
			for _, h := range suspects {
				asked[h] = true
			}
			continue
		}
		if wait == nil {
			return func() { o.release(hosts) }, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryHold holds the hosts and returns nil, or returns a channel that is closed when another holder releases
// them. It holds nothing while others hold hosts in another form, and returns the suspects: the hosts of both that
// may be the same machines and were not asked for names yet. Some agents give both names only by one of them.
func (o Object) tryHold(hosts []fleet.Host, asked map[fleet.Host]bool) (wait <-chan struct{}, suspects []fleet.Host) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var held []fleet.Host
	for r := range o.busy {
		if r.process == o.Process {
			held = append(held, fleet.Host{}.Named(r.host))
		}
	}
	suspects = append(fleet.OtherForm(hosts, held), fleet.OtherForm(held, hosts)...)
	if suspects = fleet.Where(suspects, func(h fleet.Host) bool { return !asked[h] }); len(suspects) > 0 {
		return nil, suspects
	}
	for _, h := range hosts {
		if held, busy := o.busy[registration{o.Process, h.WithoutSupplier()}]; busy {
			return held, nil
		}
	}
	if o.busy == nil {
		o.busy = make(map[registration]chan struct{})
	}
	through := make(chan struct{})
	for _, h := range hosts {
		o.busy[registration{o.Process, h.WithoutSupplier()}] = through
	}
	return nil, nil
}

func (o Object) release(hosts []fleet.Host) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, h := range hosts {
		key := registration{o.Process, h.WithoutSupplier()}
		if i == 0 {
			close(o.busy[key])
		}
		delete(o.busy, key)
	}
}

// Announce is called before an object holds any hosts. joins are the hosts on which it will register the
// process. leaves are those on which it will unregister it, with its registrations there. So it is known that a
// host moves between two objects of one run, whichever of them comes first.
func (o Object) Announce(joins []fleet.Host, leaves map[fleet.Host]fleet.Owned) {
	if o.ID == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.joins == nil {
		o.joins, o.leaves = make(map[registration]string), make(map[registration]map[string]fleet.Owned)
	}
	for _, h := range joins {
		o.joins[registration{o.Process, h.WithoutSupplier()}] = o.ID
	}
	for h, owned := range leaves {
		key := registration{o.Process, h.WithoutSupplier()}
		if o.leaves[key] == nil {
			o.leaves[key] = make(map[string]fleet.Owned)
		}
		o.leaves[key][o.ID] = owned
	}
}

// Withdraw is called if an object registers nothing of what it has announced.
func (o Object) Withdraw() {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.joins, func(r registration, by string) bool { return r.process == o.Process && by == o.ID })
}

// JoinsAnother reports whether another object has announced to register the process on a host.
func (o Object) JoinsAnother(host fleet.HostID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	joins := o.joins[registration{o.Process, host}]
	return joins != "" && joins != o.ID
}

// Leaves reports whether the owner of the registration found has announced to unregister it. If its owner is
// unknown, the registration is identified by the agent's time.
func (o Object) Leaves(host fleet.HostID, found fleet.Owned) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, owned := range o.leaves[registration{o.Process, host}] {
		if found.Owner != "" && owned.Owner == found.Owner || found.Owner == "" && owned.At != 0 && owned.At == found.At {
			return true
		}
	}
	return false
}

// LeftByOther reports whether another object has announced to unregister the process on a host.
// It may have done so already.
func (o Object) LeftByOther(host fleet.HostID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for leaver := range o.leaves[registration{o.Process, host}] {
		if leaver != o.ID {
			return true
		}
	}
	return false
}

// Stopped records that the process ran on these hosts and was stopped there.
func (o Object) Stopped(hosts []fleet.Host) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped == nil {
		o.stopped = make(map[registration]bool)
	}
	for _, h := range hosts {
		o.stopped[registration{o.Process, h.WithoutSupplier()}] = true
	}
}

// WasStopped reports whether the process ran on a host until it was stopped in this run. A second call for the
// same host returns false.
func (o Object) WasStopped(host fleet.HostID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := registration{o.Process, host}
	stopped := o.stopped[key]
	delete(o.stopped, key)
	return stopped
}

// Registered records that this object registered the process on these hosts.
func (o Object) Registered(hosts []fleet.Host) {
	if o.ID == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		o.last = make(map[registration]claim)
	}
	for _, h := range hosts {
		o.last[registration{o.Process, h.WithoutSupplier()}] = claim{o.ID, h}
	}
}

// Registrant returns the object that last registered the process on a host in this run, "" if none did.
func (o Object) Registrant(host fleet.HostID) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[registration{o.Process, host}].object
}

// Replaced reports whether another object has registered the process on a host in this run.
func (o Object) Replaced(host fleet.HostID) bool {
	registrant := o.Registrant(host)
	return registrant != "" && registrant != o.ID
}

// OfOthers returns the hosts on which another object last registered the process in this run, by the names that
// it used.
func (o Object) OfOthers() []fleet.Host {
	o.mu.Lock()
	defer o.mu.Unlock()
	var hosts []fleet.Host
	for r, c := range o.last {
		if r.process == o.Process && c.object != o.ID {
			hosts = append(hosts, c.host)
		}
	}
	return hosts
}
