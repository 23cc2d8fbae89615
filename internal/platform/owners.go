package platform

import (
	"context"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Owners knows which object of this provider registered a process last. The platform's
// file tells that too, minutes later; within one run two objects may be about the same
// process (create_before_destroy, a rename without `moved`), and then this decides.
// The zero value is ready to use.
type Owners struct {
	mu   sync.Mutex
	last map[registration]claim
	busy map[registration]chan struct{} // closed when whoever holds it lets go
}

// registration is a process on a host.
type registration struct {
	process string // the id of the object
	host    fleet.HostID
}

// claim is who registered a process on a host last, by which name of the host.
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

// tryHold gives what to wait for, nil where the hosts are held now.
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

// Of is who registered the process on a host last in this run, "" where nobody did.
func (o *Owners) Of(process string, host fleet.HostID) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last[registration{process, host}].owner
}

// OfOthers are the hosts on which another than owner registered the process last in this
// run, by the names that it has for them.
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
