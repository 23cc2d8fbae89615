package simulator

// itemOf reads what an item of a checked request says about one process.
func itemOf(tree map[string]any) *item {
	meta := objectOf(tree["meta"])
	it := &item{
		op:        noOp,
		namespace: stringOf(meta["namespace"]),
		name:      stringOf(meta["name"]),
		labels:    stringsOf(meta["labels"]),
		spec:      newSpec(tree["spec"]),
	}
	if op, given := tree["op_type"]; given {
		it.op = int(integerOf(op))
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
		host := objectOf(v)
		t, err := newTarget(integerOf(host["bk_cloud_id"]), integerOf(host["bk_supplier_id"]), stringOf(host["ip"]))
		if err == nil {
			add(t)
		}
	}
	for _, v := range ids {
		add(agentTarget(stringOf(v)))
	}
	return targets
}
