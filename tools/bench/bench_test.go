package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
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

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
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

func TestReport(t *testing.T) {
	t.Parallel()
	m := measured(1.25)
	var table bytes.Buffer
	if err := m.write(&table); err != nil || !strings.Contains(table.String(), "1.25") {
		t.Errorf("%v\n%s", err, &table)
	}
	name := filepath.Join(t.TempDir(), "bench")
	must(t, m.writeCSV(name+".csv"), m.plot(name+".png"))
	text, err := os.ReadFile(name + ".csv")
	must(t, err)
	if records, err := csv.NewReader(bytes.NewReader(text)).ReadAll(); err != nil || len(records) != len(m.rows)+1 {
		t.Errorf("%d records, %v", len(records), err)
	}
	drawn, err := os.ReadFile(name + ".png")
	must(t, err)
	_, err = png.Decode(bytes.NewReader(drawn))
	must(t, err)
}

// The floor returns what it was given, and leaves nothing unknown.
func TestFloor(t *testing.T) {
	t.Parallel()
	f := newFloor()
	schema, err := f.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	must(t, err)
	typ, ok := schema.ResourceSchemas["bk_hosted_process"].ValueType().(tftypes.Object)
	if !ok {
		t.Fatal("the schema is no object")
	}
	attributes := make(map[string]tftypes.Value)
	for name, attribute := range typ.AttributeTypes {
		attributes[name] = tftypes.NewValue(attribute, nil)
	}
	attributes["id"] = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	attributes["ensure"] = tftypes.NewValue(tftypes.String, "hosted")
	planned, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, attributes))
	must(t, err)
	resp, err := f.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{PlannedState: &planned})
	must(t, err)
	attributes["id"] = tftypes.NewValue(tftypes.String, nil)
	if state, err := resp.NewState.Unmarshal(typ); err != nil || !state.Equal(tftypes.NewValue(typ, attributes)) {
		t.Errorf("%v: %s", err, state)
	}
}
