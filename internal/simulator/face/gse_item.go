package face

import (
	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// itemOf reads an item of a checked request about one process.
func itemOf(tree map[string]any) *core.Item {
	meta := jsontree.Object(tree["meta"])
	it := &core.Item{
		Op:        core.NoOp,
		Namespace: jsontree.String(meta["namespace"]),
		Name:      jsontree.String(meta["name"]),
		Labels:    jsontree.Strings(meta["labels"]),
		Spec:      core.NewSpec(tree["spec"]),
	}
	if op, given := tree["op_type"]; given {
		it.Op = int(jsontree.Integer(op))
	}
	it.Targets = targetsOf(tree["hosts"], tree["agent_id_list"])
	return it
}

// targetsOf reads the hosts of a checked item: those named by agent id, or else those named by address.
func targetsOf(hosts, agents any) []core.Target {
	named, _ := hosts.([]any)
	ids, _ := agents.([]any)
	if len(ids) > 0 {
		named = nil // the platform ignores them too
	}
	targets := make([]core.Target, 0, len(named)+len(ids))
	seen := make(map[core.HostKey]int, len(named)+len(ids))
	add := func(t core.Target) {
		// A host that is given twice is one operation under the later spelling, because both would have the
		// same key in the answer.
		if i, again := seen[t.Key]; again {
			targets[i] = t
			return
		}
		seen[t.Key] = len(targets)
		targets = append(targets, t)
	}
	for _, v := range named {
		host := jsontree.Object(v)
		t, err := core.NewTarget(jsontree.Integer(host["bk_cloud_id"]), jsontree.Integer(host["bk_supplier_id"]), jsontree.String(host["ip"]))
		if err == nil {
			add(t)
		}
	}
	for _, v := range ids {
		add(core.AgentTarget(jsontree.String(v)))
	}
	return targets
}

// upgradeOf reads the hosts of a checked upgrade_to_agent_id, which names no process, and their agent
// ids.
func upgradeOf(tree map[string]any) ([]*core.Item, []string) {
	it := &core.Item{Op: core.NoOp}
	var agentIDs []string
	hosts, _ := tree["hosts"].([]any)
	for _, v := range hosts {
		host := jsontree.Object(v)
		t, err := core.NewTarget(jsontree.Integer(host["bk_cloud_id"]), 0, jsontree.String(host["ip"]))
		if err != nil {
			continue
		}
		it.Targets = append(it.Targets, t)
		agentIDs = append(agentIDs, jsontree.String(host["bk_agent_id"]))
	}
	return []*core.Item{it}, agentIDs
}
