package simulator

import "github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"

// itemOf reads what an item of a checked request says about one process.
func itemOf(tree map[string]any) *item {
	meta := jsontree.Object(tree["meta"])
	it := &item{
		op:        noOp,
		namespace: jsontree.String(meta["namespace"]),
		name:      jsontree.String(meta["name"]),
		labels:    jsontree.Strings(meta["labels"]),
		spec:      newSpec(tree["spec"]),
	}
	if op, given := tree["op_type"]; given {
		it.op = int(jsontree.Integer(op))
	}
	it.targets = targetsOf(tree["hosts"], tree["agent_id_list"])
	return it
}

// targetsOf reads the hosts of a checked item, of which there is one kind.
func targetsOf(hosts, agents any) []target {
	named, _ := hosts.([]any)
	ids, _ := agents.([]any)
	targets := make([]target, 0, len(named)+len(ids))
	seen := make(map[hostKey]int, len(named)+len(ids))
	add := func(t target) {
		// The same host twice is one operation, and the later spelling is the
		// one that answers: on the wire both would have the same key.
		if i, again := seen[t.key]; again {
			targets[i] = t
			return
		}
		seen[t.key] = len(targets)
		targets = append(targets, t)
	}
	for _, v := range named {
		host := jsontree.Object(v)
		t, err := newTarget(jsontree.Integer(host["bk_cloud_id"]), jsontree.Integer(host["bk_supplier_id"]), jsontree.String(host["ip"]))
		if err == nil {
			add(t)
		}
	}
	for _, v := range ids {
		add(agentTarget(jsontree.String(v)))
	}
	return targets
}
