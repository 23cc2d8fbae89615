package core

// Agent is the platform's data about a host's agent.
type Agent struct {
	Target Target
	// Known says that there is such an agent, Alive that it answers.
	Known, Alive bool
	// ReportTime is the time of its last report, in epoch seconds, and 0 while it is unreachable: an
	// invention.
	ReportTime int64
}

// Agents reports for each host whether its agent is reachable. Faults that make an agent unreachable for
// operations, or omit a host from answers, apply here too.
func (g *GSE) Agents(api string, targets []Target) []Agent {
	g.mu.Lock()
	defer g.mu.Unlock()
	agents := make([]Agent, 0, len(targets))
	for _, t := range targets {
		o := &operation{api: api, item: &Item{Op: NoOp}, target: t}
		g.applyFaultsLocked(o, api, false)
		if o.missing != 0 {
			continue
		}
		a := Agent{Target: t, Known: g.knownLocked(t)}
		if g.answersLocked(t) && o.unreachable == "" && (o.code == nil || *o.code != CodeAgentAbnormal) {
			a.Alive, a.ReportTime = true, g.now().Unix()
		}
		agents = append(agents, a)
	}
	return agents
}
