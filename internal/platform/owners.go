package platform

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Owners knows which object of this provider last registered a process. The cached status shows that
// minutes later. Within one run two objects may have the same process (create_before_destroy, a rename
// without `moved`). The zero value is ready to use.
type Owners struct {
	// Destroys counts objects whose destroy was planned.
	Destroys atomic.Int64

	mu   sync.Mutex
	last map[registration]claim
	busy map[registration]chan struct{} // closed when the holder releases it
	// joins are the owners that have announced a registration. leaves are those that have announced to
	// unregister, with the agent's time of that registration, 0 if it is not known.
	joins  map[registration]string
	leaves map[registration]map[string]int64
	// stopped are processes that ran and were stopped before they were unregistered.
	stopped map[registration]bool
}

// registration is a process on a host.
type registration struct {
	process string // the id of the object
	host    fleet.HostID
}

// claim is the owner that last registered a process on a host, and the name of the host that it used.
type claim struct {
	owner string
	host  fleet.Host
}

// Hold waits until no other object changes the process on these hosts, and keeps others
// waiting until release is called.
func (o *Owners) Hold(ctx context.Context, process string, hosts []fleet.Host) (release func(), err error) {
	for {
		wait := o.tryHold(process, hosts)
		if wait == nil {
			return func() { o.release(process, hosts) }, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryHold returns a channel to wait for, or nil if the hosts are held now.
func (o *Owners) tryHold(process string, hosts []fleet.Host) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range hosts {
		if held, busy := o.busy[registration{process, h.WithoutSupplier()}]; busy {
			return held
		}
	}
	if o.busy == nil {
		o.busy = make(map[registration]chan struct{})
	}
	through := make(chan struct{})
	for _, h := range hosts {
		o.busy[registration{process, h.WithoutSupplier()}] = through
	}
	return nil
}

func (o *Owners) release(process string, hosts []fleet.Host) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, h := range hosts {
		key := registration{process, h.WithoutSupplier()}
		if i == 0 {
			close(o.busy[key])
		}
		delete(o.busy, key)
	}
}

// Announce is called before owner holds any hosts. joins are the hosts on which it will register the
// process. leaves are those on which it will unregister it, with the agents' times of the registrations
// there. So a host that moves between two objects of one run is known to move, whichever comes first.
func (o *Owners) Announce(process, owner string, joins []fleet.Host, leaves map[fleet.Host]int64) {
	if owner == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.joins == nil {
		o.joins, o.leaves = make(map[registration]string), make(map[registration]map[string]int64)
	}
	for _, h := range joins {
		o.joins[registration{process, h.WithoutSupplier()}] = owner
	}
	for h, at := range leaves {
		key := registration{process, h.WithoutSupplier()}
		if o.leaves[key] == nil {
			o.leaves[key] = make(map[string]int64)
		}
		o.leaves[key][owner] = at
	}
}

// Joins is the owner that has announced to register the process on a host, "" if none has.
func (o *Owners) Joins(process string, host fleet.HostID) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.joins[registration{process, host}]
}

// Leaves reports whether the owner of a registration has announced to unregister it. An owner that is not
// known is identified by the agent's time.
func (o *Owners) Leaves(process string, host fleet.HostID, found fleet.Owned) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	leaves := o.leaves[registration{process, host}]
	if _, announced := leaves[found.Owner]; found.Owner != "" {
		return announced
	}
	for _, at := range leaves {
		if at != 0 && at == found.At {
			return true
		}
	}
	return false
}

// Stopped notes that the process ran on these hosts and was stopped there.
func (o *Owners) Stopped(process string, hosts []fleet.Host) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped == nil {
		o.stopped = make(map[registration]bool)
	}
	for _, h := range hosts {
		o.stopped[registration{process, h.WithoutSupplier()}] = true
	}
}

// WasStopped reports whether the process ran on a host until it was stopped in this run. A second call
// for the same host returns false.
func (o *Owners) WasStopped(process string, host fleet.HostID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := registration{process, host}
	stopped := o.stopped[key]
	delete(o.stopped, key)
	return stopped
}

// Registered notes that owner registered the process on these hosts.
func (o *Owners) Registered(process string, hosts []fleet.Host, owner string) {
	if owner == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		o.last = make(map[registration]claim)
	}
	for _, h := range hosts {
		o.last[registration{process, h.WithoutSupplier()}] = claim{owner, h}
	}
}

// Of is the owner that last registered the process on a host in this run, "" if none did.
func (o *Owners) Of(process string, host fleet.HostID) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[registration{process, host}].owner
}

// OfOthers are the hosts on which another owner last registered the process in this run, by the names
// that it used.
func (o *Owners) OfOthers(process, owner string) []fleet.Host {
	o.mu.Lock()
	defer o.mu.Unlock()
	var hosts []fleet.Host
	for r, c := range o.last {
		if r.process == process && c.owner != owner {
			hosts = append(hosts, c.host)
		}
	}
	return hosts
}
