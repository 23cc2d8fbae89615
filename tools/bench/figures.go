package main

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// figure is a target of a measurement.
type figure struct {
	name string
	// max is the largest value that meets the target.
	max float64
	// exact is set for counts and memory, which have no slack.
	exact bool
	// value returns false if this run did not measure it.
	value func(*measurement) (float64, bool)
}

// row finds a step of a scenario.
func (m *measurement) row(scenario, step string) (*row, bool) {
	for _, r := range m.rows {
		if r.scenario == scenario && r.step == step {
			return r, true
		}
	}
	return nil, false
}

func figures() []figure {
	thousand, tenThousand, many := oneResource(1000).name, oneResource(10000).name, shards().name
	return []figure{
		timed("no-op plan ÷ floor, 1000 hosts", 1.3, thousand, stepNoop, (*row).ratio),
		timed("no-op plan ÷ floor, 10000 hosts", 1.5, tenThousand, stepNoop, (*row).ratio),
		timed("plan with one host added ÷ floor, 1000 hosts", 1.3, thousand, stepPlanAdd, (*row).ratio),
		timed("plan with one host added ÷ floor, 10000 hosts", 1.5, tenThousand, stepPlanAdd, (*row).ratio),
		{name: "no-op plan with verify = \"agent\" ÷ that without and the calls' own time, 10000 hosts", max: 1.3, value: verified},
		timed("create without the simulator ÷ floor, 1000 hosts", 1.5, thousand, stepCreate, (*row).ownRatio),
		timed("create without the simulator ÷ floor, 10000 hosts", 2, tenThousand, stepCreate, (*row).ownRatio),
		timed("bk_hosts without the simulator ÷ floor, 10000 hosts", 1.5, cmdbHosts(10000).name, stepRead, (*row).ownRatio),
		{name: "growth of the no-op plan from 1000 to 10000 hosts", max: 12, value: growth},
		counted("status calls of a no-op plan, 1000 hosts", 1, thousand),
		counted("status calls of a no-op plan, 10000 hosts", 10, tenThousand),
		counted("status calls of a no-op plan, 200 resources of 50 hosts", 20, many),
		counted("status calls of a no-op plan, 100000 hosts in 20 resources", 100, fleet().name),
		beyond(stepStart), beyond(stepUpdate), beyond(stepRestart),
		{name: "state of a created resource per host, 10000 hosts, bytes", max: 60, exact: true, value: func(m *measurement) (float64, bool) {
			r, found := m.row(tenThousand, stepCreate)
			if !found {
				return 0, false
			}
			return r.statePerHost(), true
		}},
		{name: "peak memory above an idle provider, MiB", max: 300, exact: true, value: func(m *measurement) (float64, bool) {
			return m.memory(func(r *row) bool { return r.scenario != fleet().name })
		}},
		{name: "peak memory with 100000 hosts, MiB", max: 1024, exact: true, value: func(m *measurement) (float64, bool) {
			return m.memory(func(r *row) bool { return r.scenario == fleet().name })
		}},
	}
}

func timed(name string, limit float64, scenario, step string, value func(*row) float64) figure {
	return figure{name: name, max: limit, value: func(m *measurement) (float64, bool) {
		r, found := m.row(scenario, step)
		if !found {
			return 0, false
		}
		return value(r), true
	}}
}

func counted(name string, limit float64, scenario string) figure {
	f := timed(name, limit, scenario, stepNoop, func(r *row) float64 { return float64(r.statusCalls()) })
	f.exact = true
	return f
}

func growth(m *measurement) (float64, bool) {
	small, measured := m.row(oneResource(1000).name, stepNoop)
	large, also := m.row(oneResource(10000).name, stepNoop)
	if !measured || !also {
		return 0, false
	}
	return float64(large.wall()) / float64(small.wall()), true
}

// verified returns the time of a plan that reads the agents' files, as a multiple of a plan without that and
// the platform's own time.
func verified(m *measurement) (float64, bool) {
	labels, measured := m.row(oneResource(10000).name, stepNoop)
	agent, also := m.row(oneResource(10000).name, stepVerify)
	if !measured || !also {
		return 0, false
	}
	return float64(agent.wall()) / float64(labels.wall()+agent.busy()), true
}

// memory returns the largest peak memory of some rows, above an idle provider.
func (m *measurement) memory(of func(*row) bool) (mebibytes float64, measured bool) {
	for _, r := range m.rows {
		if of(r) {
			mebibytes, measured = max(mebibytes, float64(r.peak()-m.idle)/mib), true
		}
	}
	return mebibytes, measured
}

// beyond is the figure of a step's time above the floor's, in multiples of the processes' own time.
func beyond(step string) figure {
	span := makespan(1000, 2*time.Second)
	return timed(fmt.Sprintf("%s of %s, beyond the floor ÷ %s", step, span.name, span.takes), 1.2, span.name, step, func(r *row) float64 {
		return float64(r.wall()-r.floorTime()) / float64(span.takes)
	})
}

// judge prints the figures. With a slack, it returns an error if a figure misses its target by more.
func (m *measurement) judge(to io.Writer, slack float64) error {
	var failed []error
	fmt.Fprintln(to)
	for _, f := range figures() {
		value, measured := f.value(m)
		if !measured {
			continue
		}
		word, allowed := "reached", f.max
		if value > f.max {
			word = "MISSED"
		}
		if !f.exact {
			allowed *= slack
		}
		fmt.Fprintf(to, "%s: %.2f of at most %g, %s\n", f.name, value, f.max, word)
		if slack > 0 && value > allowed {
			failed = append(failed, fmt.Errorf("%s: %.2f is worse than %g", f.name, value, allowed))
		}
	}
	return errors.Join(failed...)
}
