package main

import (
	"bytes"
	"encoding/csv"
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

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m      *measurement
		slack  float64
		failed int
		missed int
	}{
		"reached":                        {measured(1.2), 1.5, 0, 0},
		"missed, within the slack":       {measured(1.6), 1.5, 0, 5},
		"missed by far":                  {measured(4), 1.5, 6, 6},
		"missed by far, and only looked": {measured(4), 0, 0, 6},
	} {
		var out bytes.Buffer
		err := c.m.judge(&out, c.slack)
		failed := 0
		if err != nil {
			failed = strings.Count(err.Error(), "\n") + 1
		}
		if missed := strings.Count(out.String(), "MISSED"); failed != c.failed || missed != c.missed {
			t.Errorf("%s: %d failed and %d missed, want %d and %d\n%s", name, failed, missed, c.failed, c.missed, &out)
		}
	}

	// Counts have no slack.
	m := measured(1)
	m.rows[1].provider[0].statusCalls = 2
	if err := m.judge(&bytes.Buffer{}, 1.5); err == nil || !strings.Contains(err.Error(), "status calls") {
		t.Errorf("one call too many: %v", err)
	}
	m = measured(1)
	agent, _ := m.row(oneResource(10000).name, stepVerify)
	agent.provider[0].wall *= 3
	if err := m.judge(&bytes.Buffer{}, 1.5); err == nil || !strings.Contains(err.Error(), "calls' own time") {
		t.Errorf("reading the agents' files is slow: %v", err)
	}
	agent.provider[0].busy = agent.provider[0].wall // here the platform is busy
	if err := m.judge(&bytes.Buffer{}, 1.5); err != nil {
		t.Errorf("the platform is slow: %v", err)
	}
	m = measured(1)
	for _, r := range m.rows {
		r.provider[0].state = int64(70 * r.hosts)
	}
	if err := m.judge(&bytes.Buffer{}, 1.5); err == nil || !strings.Contains(err.Error(), "state of a created resource") {
		t.Errorf("state that is too large: %v", err)
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
	if err := m.writeCSV(name + ".csv"); err != nil {
		t.Fatal(err)
	}
	if err := m.plot(name + ".png"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name + ".csv")
	if err != nil {
		t.Fatal(err)
	}
	if records, err := csv.NewReader(bytes.NewReader(text)).ReadAll(); err != nil || len(records) != len(m.rows)+1 {
		t.Errorf("%d records, %v", len(records), err)
	}
	drawn, err := os.ReadFile(name + ".png")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(drawn)); err != nil {
		t.Error(err)
	}
}

// The floor returns what it was given, and leaves nothing unknown.
func TestFloor(t *testing.T) {
	t.Parallel()
	f := newFloor()
	schema, err := f.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	resp, err := f.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{PlannedState: &planned})
	if err != nil {
		t.Fatal(err)
	}
	attributes["id"] = tftypes.NewValue(tftypes.String, nil)
	if state, err := resp.NewState.Unmarshal(typ); err != nil || !state.Equal(tftypes.NewValue(typ, attributes)) {
		t.Errorf("%v: %s", err, state)
	}
}
