package faultmatrix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

type typedCell struct {
	on     operation
	member string
	value  any
}

// A value of another type in any member of any answer. State is not dropped, an operation is not sent twice, and the next apply converges.
func TestFaultMatrix_types(t *testing.T) {
	t.Parallel()
	const (
		envelope = "result code message data request_id "
		results  = envelope + "data/* data/*/error_code data/*/error_msg data/*/content data/task_id"
		rows     = envelope + "data/proc_infos data/proc_infos/* data/proc_infos/*/meta data/proc_infos/*/meta/namespace data/proc_infos/*/meta/labels" +
			" data/proc_infos/*/host data/proc_infos/*/host/ip data/proc_infos/*/status data/proc_infos/*/isauto"
	)
	var cells []typedCell
	for on, members := range map[operation]string{
		onCreate: results, onRead: rows, onUpdate: results, onDelete: results, onReadOwner: rows, onOperate: results, onStatus: results,
	} {
		for _, member := range strings.Fields(members) {
			cells = append(cells, typedCell{on, member, "text"}, typedCell{on, member, []any{1}}, typedCell{on, member, nil})
		}
	}
	atOnce(t, cells)
}

func (c typedCell) name() string {
	return fmt.Sprintf("%s/%s/%v", c.on.Path(), strings.ReplaceAll(c.member, "/", "."), c.value)
}

func (c typedCell) Run(t *testing.T) {
	t.Helper()
	sim := providertest.NewSim(t)
	r := &faultRun{t: t, sim: sim, face: providertest.FaceESB, on: c.on, settings: sim.SettingsFor(providertest.FaceESB), kept: &providertest.Kept{}, cell: cell{timeUp: true}}
	sim.OnCall = r.count
	r.fault.arrange = func(r *faultRun) {
		replace := map[string]any{c.member: c.value}
		r.sim.Inject(simulator.Fault{API: r.face.Target(r.on).API, Replace: replace})
		if !r.face.Answers(r.on) && r.on != onRead && r.on != onReadOwner {
			r.sim.Inject(simulator.Fault{API: r.face.ResultAPI(), Replace: replace})
		}
	}
	if c.on == onStatus {
		r.startAll()
		r.FailHosts()
		p := providertest.ConfiguredWith(t, r.settings)
		p.Until = r.deadline()
		values, said := p.ReadData(r.face.TypeName(onStatus), r.config(onStatus))
		for key, state := range providertest.StatesOf(values) {
			providertest.Check(t, state == "running" || state == "unknown" && len(said) > 0, "%s is %s; said:\n%s", key, state, said)
		}
		return
	}
	if before := r.setUp(); before != "" {
		r.applies(before)
	}
	core, said := r.meet()
	providertest.Check(t, !c.on.Refreshes() || !core.State.IsNull(), "state is dropped; said:\n%s", said)
	if c.on.Operates() {
		r.expectOnce()
	}
	r.Repair()
	core = r.Run(r.sim.SettingsFor(r.face))
	_, said = core.Apply(r.config(r.on))
	providertest.Check(t, len(said) == 0, "the next apply says:\n%s", said)
	r.expectConverged(nil)
}
