package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// measured is a measurement in which each step with 1000 and 10000 hosts took ratio times as long as the
// floor.
func measured(ratio float64) *measurement {
	m := &measurement{}
	for _, s := range []scenario{oneResource(1000), oneResource(10000), shards()} {
		for _, step := range s.steps {
			floor := time.Duration(s.hosts) * time.Millisecond
			took := sample{usage{wall: time.Duration(ratio * float64(floor)), cpu: floor, peak: 50 * mib, state: int64(50 * s.hosts)}, traffic{calls: 12, statusCalls: s.hosts / 1000}}
			m.rows = append(m.rows, &row{scenario: s.name, step: step.name, hosts: s.hosts, provider: []sample{took}, floor: []usage{{wall: floor, cpu: floor}}})
		}
	}
	return m
}

func TestJudge(t *testing.T) {
	t.Parallel()
	state := func(m *measurement) {
		for _, r := range m.rows {
			r.provider[0].state = int64(70 * r.hosts)
		}
	}
	agents := func(busy bool) func(*measurement) {
		return func(m *measurement) {
			r, _ := m.row(oneResource(10000).name, stepVerify)
			if r.provider[0].wall *= 3; busy {
				r.provider[0].busy = r.provider[0].wall
			}
		}
	}
	for name, c := range map[string]struct {
		ratio          float64
		change         func(*measurement)
		slack          float64
		failed, missed int    // -1 for any
		says           string // of the error
	}{
		"reached":                        {1.2, nil, 1.5, 0, 0, ""},
		"missed, within the slack":       {1.6, nil, 1.5, 0, 5, ""},
		"missed by far":                  {4, nil, 1.5, 6, 6, ""},
		"missed by far, and only looked": {4, nil, 0, 0, 6, ""},
		"one call too many":              {1, func(m *measurement) { m.rows[1].provider[0].statusCalls = 2 }, 1.5, -1, -1, "status calls"}, // counts have no slack
		"reading files is slow":          {1, agents(false), 1.5, -1, -1, "calls' own time"},
		"the platform is slow":           {1, agents(true), 1.5, 0, -1, ""},
		"state that is too large":        {1, state, 1.5, -1, -1, "state of a created resource"},
	} {
		m := measured(c.ratio)
		if c.change != nil {
			c.change(m)
		}
		var out bytes.Buffer
		said := ""
		if err := m.judge(&out, c.slack); err != nil {
			said = err.Error() + "\n"
		}
		failed, missed := strings.Count(said, "\n"), strings.Count(out.String(), "MISSED")
		if c.failed >= 0 && failed != c.failed || c.missed >= 0 && missed != c.missed || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d failed and %d missed: %s\n%s", name, failed, missed, said, &out)
		}
	}
}
