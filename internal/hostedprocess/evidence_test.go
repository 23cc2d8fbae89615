package hostedprocess_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// passing gives what lets a minute pass by the platform's clock: times of registrations are whole
// seconds.
func (w *world) passing() func() {
	var minutes atomic.Int64
	w.sim.Now = func() time.Time { return time.Now().Add(time.Duration(minutes.Load()) * time.Minute) }
	return func() { minutes.Add(1) }
}

// expectLeft fails the test if something of a host was ended.
func (w *world) expectLeft(said providertest.Diagnostics) {
	w.Helper()
	p := w.sim.Machine(providertest.Address(1)).Process("web", "nginx")
	if let := letGo(w.sim); len(let) > 0 || !p.Hosted {
		w.Errorf("unregistered %v, and it is %+v; said: %s", let, p, said)
	}
}

// A host that could not be registered anew has the registration of before: what its agent says
// then is another object's, if one has registered since.
func TestEvidence_notRegisteredAnew(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		pass := w.passing()
		first := w.object()
		first.Applied(w.declares(1))
		pass()
		w.object().Applied(w.declares(1, attribute("adopt_existing", true)))
		w.on("update_proc_info", away, 1)
		first.Protocol = w.open()
		if _, said := first.ApplyUnrefreshed(w.changed(1)); !said.Failed() {
			t.Fatalf("said: %s", said)
		}
		w.sim.Repair()
		w.sim.ResetCalls()
		first.Protocol = w.open()
		w.expectLeft(first.DestroyUnrefreshed())
	})
}

// Right after a create, without a refresh, a machine that another has registered by its other name
// is left alone.
func TestEvidence_otherName(t *testing.T) {
	t.Parallel()
	for name, hosts := range map[string][2]map[string]string{
		"address-first":  {addresses(1), {"web-1": agents["web-1"]}},
		"agent-id-first": {{"web-1": agents["web-1"]}, addresses(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, true)
			pass := w.passing()
			first := w.object()
			first.Applied(w.declares(0, attribute("hosts", hosts[0])))
			pass()
			w.object().Applied(w.declares(0, attribute("hosts", hosts[1]), attribute("adopt_existing", true)))
			w.sim.ResetCalls()
			first.Protocol = w.open()
			w.expectLeft(first.DestroyUnrefreshed())
		})
	}
}

// Where a machine has two names, and what is registered by the other cannot be read, it is kept.
func TestEvidence_otherNameUnread(t *testing.T) {
	t.Parallel()
	w := newNames(t, true)
	pass := w.passing()
	first := w.object()
	first.Applied(w.declares(1))
	first.Refresh()
	pass()
	w.object().Applied(w.declares(0, attribute("hosts", map[string]string{"web-1": agents["web-1"]}), attribute("adopt_existing", true)))
	w.sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403})
	w.sim.ResetCalls()
	first.Protocol = w.open()
	said := first.DestroyUnrefreshed()
	w.expectLeft(said)
	if !said.Failed() || !strings.Contains(words(said.String()), "who registered it could not be read") {
		t.Errorf("said: %s", said)
	}
}

// Where registering again does not renew the time, the row of another object that has the very time
// of the ledger keeps the host.
func TestEvidence_timeKept(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.sim.ReregisteringKeepsTime = true
		first := w.object()
		first.Applied(w.declares(1))
		w.object().Applied(w.declares(1, attribute("adopt_existing", true)))
		w.sim.ResetCalls()
		first.Protocol = w.open()
		said := first.DestroyUnrefreshed()
		w.expectLeft(said)
		if !said.Failed() {
			t.Errorf("said: %s", said)
		}
	})
}
