package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/record"
)

// How often viewers get changes, and statistics even without changes.
const (
	streamInterval = 200 * time.Millisecond
	streamBeat     = time.Second
)

// streamCalls is the maximum number of calls in one event.
const streamCalls = 300

// cell is a process on a machine in the stream. Its ID is the viewer's number for it.
type cell struct {
	ID int `json:"id"`
	// Places are the modules of CMDB that the host is in, by their paths.
	Places []string `json:"places,omitempty"`
	core.Cell
}

// fleetEvent is the changes of the fleet. The first one of a stream is the whole fleet.
type fleetEvent struct {
	Cells []cell `json:"cells"`
	Gone  []int  `json:"gone,omitempty"`
}

// callsEvent is the new calls, and those answered since the last event.
type callsEvent struct {
	Lines []record.Line `json:"calls"`
}

// daysEvent is the active faults and the state of the cached status.
type daysEvent struct {
	Faults []fault.Active `json:"faults"`
	Frozen bool           `json:"frozen"`
	Lag    int            `json:"lag"`
}

// statsEvent is sent every second, with or without changes.
type statsEvent struct {
	Now         time.Time `json:"now"`
	Started     time.Time `json:"started"`
	Calls       int       `json:"calls"`
	InFlight    int       `json:"in_flight"`
	MaxInFlight int       `json:"max_in_flight"`
	// Violations is their number, Violation the latest.
	Violations int    `json:"violations"`
	Violation  string `json:"violation,omitempty"`
}

// viewer is one reader of the stream, with what was sent to it.
type viewer struct {
	Endpoint
	w http.ResponseWriter

	cells    map[core.ProcKey]cell
	lastCell int
	places   map[string][]string
	changes  int // of CMDB, when places were read
	lastCall int
	open     map[int]bool // calls that were in progress
	days     daysEvent
	done     int // steps of the scenario
	beat     time.Time
}

// stream sends the fleet, the calls and the faults as server-sent events: first everything, then changes.
func (e Endpoint) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	v := &viewer{Endpoint: e, w: w, cells: make(map[core.ProcKey]cell), changes: -1, open: make(map[int]bool)}
	ticker := time.NewTicker(streamInterval)
	defer ticker.Stop()
	for v.send() == nil {
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-e.Core.Closing():
			return
		}
	}
}

// send sends what has changed, at first everything.
func (v *viewer) send() error {
	first := v.beat.IsZero()
	events := []struct {
		name string
		data any
		news bool
	}{
		{name: "fleet"}, {name: "calls"}, {name: "days"}, {name: "stats"}, {name: "scenario"},
	}
	events[0].data, events[0].news = v.fleet()
	events[1].data, events[1].news = v.calls()
	events[2].data, events[2].news = v.badDays()
	events[3].data, events[3].news = v.stats(events[1].news)
	events[4].data, events[4].news = v.scenario()
	for _, event := range events {
		if !event.news && !first {
			continue
		}
		data, err := json.Marshal(event.data)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(v.w, "event: %s\ndata: %s\n\n", event.name, data); err != nil {
			return err
		}
	}
	return http.NewResponseController(v.w).Flush()
}

func (v *viewer) fleet() (fleetEvent, bool) {
	if now := v.CMDB.Changes(); now != v.changes {
		v.changes, v.places = now, places(v.CMDB.Modules())
	}
	event := fleetEvent{Cells: []cell{}}
	left := maps.Clone(v.cells)
	for _, seen := range v.Core.Fleet() {
		key := core.ProcKey{Host: core.HostKey(seen.Host), Namespace: seen.Namespace, Name: seen.Name}
		before, known := v.cells[key]
		delete(left, key)
		now := cell{ID: before.ID, Places: v.places[seen.Host], Cell: seen}
		if known && now.Cell == before.Cell && slices.Equal(now.Places, before.Places) {
			continue
		}
		if !known {
			v.lastCell++
			now.ID = v.lastCell
		}
		v.cells[key] = now
		event.Cells = append(event.Cells, now)
	}
	for key, gone := range left {
		delete(v.cells, key)
		event.Gone = append(event.Gone, gone.ID)
	}
	slices.Sort(event.Gone)
	return event, len(event.Cells)+len(event.Gone) > 0
}

// places returns the modules of each host, given the hosts of each module.
func places(modules map[string][]string) map[string][]string {
	places := make(map[string][]string)
	for _, path := range slices.SortedFunc(maps.Keys(modules), natural) {
		for _, host := range modules[path] {
			places[host] = append(places[host], path)
		}
	}
	return places
}

// natural orders paths by their parts, shorter parts first: gz-2 before gz-10.
func natural(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	return slices.CompareFunc(x, y, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
}

func (v *viewer) calls() (callsEvent, bool) {
	lines, last := v.Record.Lines(v.lastCall, streamCalls, v.open)
	event := callsEvent{Lines: []record.Line{}}
	for _, line := range lines {
		if v.open[line.Seq] && !line.Done {
			continue
		}
		delete(v.open, line.Seq)
		if !line.Done {
			v.open[line.Seq] = true
		}
		event.Lines = append(event.Lines, line)
	}
	v.lastCall = last
	return event, len(event.Lines) > 0
}

func (v *viewer) badDays() (daysEvent, bool) {
	event := daysEvent{Faults: v.Faults.Active()}
	event.Frozen, event.Lag = v.Core.Lagging()
	news := !reflect.DeepEqual(event, v.days)
	v.days = event
	return event, news
}

func (v *viewer) scenario() (Progress, bool) {
	progress := v.Scenario.Progress()
	news := progress.Done != v.done
	v.done = progress.Done
	return progress, news
}

func (v *viewer) stats(news bool) (statsEvent, bool) {
	now := time.Now()
	if !news && now.Sub(v.beat) < streamBeat {
		return statsEvent{}, false
	}
	v.beat = now
	event := statsEvent{
		Now: v.Now(), Started: v.Started, Calls: v.lastCall,
		InFlight: v.Record.InFlight(), MaxInFlight: v.Record.MaxInFlight(),
	}
	violations := v.Record.Violations()
	if event.Violations = len(violations); event.Violations > 0 {
		event.Violation = violations[len(violations)-1]
	}
	return event, true
}
