package gse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// crowd is a namespace with many processes, each on hosts of its own.
type crowd struct {
	t      *testing.T
	sim    *simulator.Server
	client *Client
	each   int
	now    time.Time // of the client, so that no deadline depends on the speed of the machine
}

func newCrowd(t *testing.T, processes, each int) *crowd {
	t.Helper()
	c := &crowd{t: t, sim: &simulator.Server{}, each: each, now: time.Now()}
	c.client = newTestClient(t, procapitest.Serve(t, c.sim), func(cfg *bkapi.Config, _ *procapi.Options) { cfg.MaxRetries = 0 })
	c.client.now, c.client.patience = func() time.Time { return c.now }, time.Hour
	spec, err := json.Marshal(sampleSpec())
	procapitest.NoError(t, err)
	for i := range processes {
		for _, h := range c.hosts(i) {
			labels := map[string]string{"number": strconv.Itoa(i)}
			procapitest.NoError(t, c.sim.Register(h.Address(), "gse", c.name(i), labels, string(spec)))
		}
	}
	return c
}

func (*crowd) name(i int) string { return fmt.Sprintf("proc-%d", i) }

func (c *crowd) hosts(i int) []fleet.Host {
	list := make([]fleet.Host, c.each)
	for k := range list {
		list[k] = host(i*c.each + k + 1)
	}
	return list
}

func (c *crowd) process(i int) *Process {
	return c.client.Process(Meta{Namespace: "gse", Name: c.name(i)}, sampleSpec())
}

// ask fails the test unless process i is registered on all its hosts, with its own status.
func (c *crowd) ask(ctx context.Context, i int) error {
	statuses, err := c.process(i).SharedStatus(ctx, c.hosts(i))
	if err != nil {
		return err
	}
	for _, h := range c.hosts(i) {
		if status := statuses[h]; status.State != fleet.Stopped || status.Labels["number"] != strconv.Itoa(i) {
			return fmt.Errorf("%s on %s: %+v", c.name(i), h.Address(), status)
		}
	}
	return nil
}

// want fails the test unless so many calls of each API were made since the last check.
func (c *crowd) want(own, listing int) {
	c.t.Helper()
	calls := c.sim.Calls()
	c.sim.ResetCalls()
	got := [2]int{calls.Count(apiStatus), calls.Count(apiSync)}
	if got != [2]int{own, listing} {
		c.t.Errorf("%d calls of %s and %d of %s, want %d and %d", got[0], apiStatus, got[1], apiSync, own, listing)
	}
}

func (c *crowd) askAll(processes int) {
	c.t.Helper()
	for i := range processes {
		if err := c.ask(c.t.Context(), i); err != nil {
			c.t.Error(err)
		}
	}
}

// waitFor returns when the API has been called.
func (c *crowd) waitFor(api string) {
	c.t.Helper()
	for c.sim.Calls().Count(api) == 0 {
		select {
		case <-c.t.Context().Done():
			c.t.Fatalf("no call of %s", api)
		case <-time.After(time.Millisecond):
		}
	}
}

// How many calls it takes to ask each of some processes in turn.
func TestSharedStatus_calls(t *testing.T) {
	t.Parallel()
	type asking struct {
		processes, own, listing int           // and the calls of either API
		later                   time.Duration // than the round before
	}
	everyone := func(own, listing int) []asking { return []asking{{12, own, listing, 0}} }
	for name, test := range map[string]struct {
		processes, each int
		fault           simulator.Fault // of the listing
		asked           []asking        // one round after the other
	}{
		// A few processes pay a call each, and nothing for a listing.
		"few": {sharedFrom, 3, simulator.Fault{}, []asking{{sharedFrom, sharedFrom, 0, 0}}},
		// A process that asks again and again shares with no other. A listing would also hide what the
		// agents do in between.
		"alone": {12, 3, simulator.Fault{}, slices.Repeat([]asking{{1, 1, 0, 0}}, 3*sharedFrom)},
		"ages":  {12, 3, simulator.Fault{}, []asking{{12, 5, 1, 0}, {12, 0, 0, sharedFor}, {12, 0, 1, time.Millisecond}}},
		// If the other processes belong to other users, the cost is one look. The first page reports
		// twelve pages, and five calls are too few for those.
		"strangers": {12, 3, simulator.Fault{Replace: map[string]any{"data/count": 12_000}}, []asking{{5, 5, 0, 0}, {1, 1, 1, 0}}},
		// Processes that fill their requests gain nothing.
		"large": {sharedFrom + 1, 501, simulator.Fault{}, []asking{{sharedFrom + 1, sharedFrom + 1, 0, 0}}},
		// If the platform refuses to list, each process asks by itself without an error. Listing is not
		// tried again, nor is a listing whose rows have less than a status, or one that takes too long.
		"refused": {12, 3, simulator.Fault{HTTPStatus: http.StatusForbidden, Body: `{"code":1640301,"message":"no permission"}`}, everyone(12, 1)},
		"terse":   {12, 3, simulator.Fault{Replace: map[string]any{"data/proc_infos/*/isauto": nil}}, []asking{{12, 12, 1, 0}, {12, 12, 0, 2 * sharedFor}}},
		"hangs":   {12, 3, simulator.Fault{Delay: time.Hour}, everyone(12, 1)},
		// A row that the listing skips is asked for by itself, and is not drift.
		"skipped": {12, 3, simulator.Fault{Missing: -1, Hosts: []string{host(9*3 + 2).Address()}}, everyone(6, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, test.processes, test.each)
			if test.fault.Delay > 0 {
				c.client.patience = time.Second // enough for the request to arrive
			}
			test.fault.API = apiSync
			c.sim.Inject(test.fault)
			for _, a := range test.asked {
				c.now = c.now.Add(a.later)
				c.askAll(a.processes)
				c.want(a.own, a.listing)
			}
		})
	}
}

// The next process that asks sees a change by this client.
func TestSharedStatus_change(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]procapitest.Call{
		"register": procapitest.Register, "reregister": procapitest.Reregister, "unregister": procapitest.Unregister, "operate": procapitest.Operate(fleet.Start),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, 12, 3)
			c.askAll(12)
			c.want(5, 1)
			p, hosts := c.process(11), c.hosts(11)
			change(t.Context(), p, hosts)
			c.sim.ResetCalls()
			shared := procapitest.OrError(p.SharedStatus(t.Context(), hosts))
			procapitest.WantEqual(t, "shared", procapitest.CachedStatus(t.Context(), p, hosts), shared)
			// Whatever the change did, the namespace was listed again.
			if n := c.sim.Calls().Count(apiSync); n != 1 {
				t.Errorf("%d calls of %s, want 1", n, apiSync)
			}
		})
	}
}

// A listing made during a change answers no process that asks after it.
func TestSharedStatus_duringChange(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 12, 3)
	c.askAll(5)
	held := c.sim.Inject(simulator.Fault{API: apiUpdate, Stall: time.Hour})
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan fleet.Results)
	go func() { done <- c.process(11).Reregister(ctx, c.hosts(11)) }()
	c.waitFor(apiUpdate)
	c.sim.ResetCalls()
	c.askAll(11)
	c.want(0, 1)
	interrupt()
	<-done
	c.sim.ClearFault(held)
	c.askAll(11)
	c.want(0, 1)
}

// A process that waits for a listing waits no longer than its deadline. If the process that lists gives
// up, the next one lists.
func TestSharedStatus_givesUp(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 12, 3)
	c.askAll(5)
	held := c.sim.Inject(simulator.Fault{API: apiSync, Delay: time.Hour})
	leader, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- c.ask(leader, 5) }()
	c.waitFor(apiSync)
	// Ctrl-C ends the wait itself: the follower makes no further call, and the leader still waits.
	follower, interrupt := context.WithCancel(t.Context())
	interrupted := make(chan error)
	go func() { interrupted <- c.ask(follower, 6) }()
	interrupt()
	select {
	case err := <-interrupted:
		if !errors.Is(err, context.Canceled) || errors.As(err, new(*bkapi.Error)) {
			t.Errorf("the follower got %v, which is not the end of its own wait", err)
		}
	case <-time.After(8 * time.Second):
		t.Error("the follower waits on")
	case err := <-left:
		t.Fatalf("the leader got %v, which it was to wait for", err)
	}
	c.want(5, 1)
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the leader got %v", err)
	}
	c.sim.ClearFault(held)
	c.sim.ResetCalls()
	c.askAll(12)
	c.want(0, 1)
}

// If two rows claim a host, or a row names none, the listing says nothing about it.
func TestListing_rows(t *testing.T) {
	t.Parallel()
	foreign := strings.Replace(cachedRow(4, 1), `"gse"`, `"other"`, 1)
	p, _ := scripted(t, "apigw", page("5", cachedRow(1, 1), cachedRow(2, 1), cachedRow(1, 2), gatewayRow(`"bk_agent_id":""`, 1), foreign))
	n := p.client.namespace(sampleMeta.Namespace)
	n.calls.Store(sharedFrom) // so that a listing saves calls
	listed, err := n.list(t.Context(), 0)
	procapitest.NoError(t, err)
	of := func(n int) fleet.Status { return listed.rows[processOn{sampleMeta.Name, host(n).WithoutSupplier()}] }
	if twice, once := of(1), of(2); twice.State != fleet.Unknown || once.State != fleet.Running || len(listed.rows) != 2 {
		t.Errorf("twice: %+v, once: %+v, of %d", twice, once, len(listed.rows))
	}
}
