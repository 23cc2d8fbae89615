package gse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func page(count string, rows ...string) exchange {
	if count != "" {
		count = `"count":` + count + `,`
	}
	return exchange{API: apiSync, Reply: procapitest.Data(`{` + count + `"proc_infos":[` + strings.Join(rows, ",") + `]}`)}
}

// rows are those of proc-test on hosts from first to last.
func rows(first, last int) []string {
	list := make([]string, 0, last-first+1)
	for n := first; n <= last; n++ {
		ip := host(n).IP().String()
		list = append(list, fmt.Sprintf(`{"meta":{"namespace":"gse","name":"proc-test"},"host":{"ip":%q,"bk_cloud_id":0},"status":1}`, ip))
	}
	return list
}

// slips returns two pages of a list that changed between them: one row is on both, so row 1001 is on neither.
func slips(repeated int) []exchange {
	return []exchange{page("1002", rows(1, 1000)...), page("1002", append(rows(repeated, repeated), rows(1002, 1002)...)...)}
}

func twice(pages ...exchange) []exchange { return slices.Concat(pages, pages) }

func upTo(n int) []int { return numbers(1, n) }

func numbers(first, last int) []int {
	list := make([]int, 0, last-first+1)
	for n := first; n <= last; n++ {
		list = append(list, n)
	}
	return list
}

func TestList_pages(t *testing.T) {
	t.Parallel()
	foreign := strings.Replace(rows(7, 7)[0], `"gse"`, `"other"`, 1)
	// On this face only the address counts.
	agentRow := gatewayRow(`"bk_agent_id":"`+agentA+`"`, 1)
	beside := gatewayRow(`"bk_agent_id":"`+agentA+`","host":{"ip":"10.0.0.1","bk_cloud_id":0}`, 1)
	stopped := []string{strings.Replace(rows(1, 1)[0], `"status":1`, `"status":0`, 1)}
	const (
		unread  = `namespace "gse" has rows that could not be read`
		nothing = `listing namespace "gse": the answer has neither rows nor a count of them, so what is registered there is not known`
	)
	short := func(rows, count int) string {
		return fmt.Sprintf(`the pages of namespace "gse" have only %d of the %d rows that they count`, rows, count)
	}
	for name, test := range map[string]struct {
		steps []exchange
		want  []int  // hosts in order
		says  string // about rows that could not be placed, or are missing
	}{
		"null":                   {[]exchange{{API: apiSync, Reply: procapitest.Data("null")}}, nil, nothing},
		"null-rows":              {[]exchange{{API: apiSync, Reply: procapitest.Data(`{"proc_infos":null}`)}}, nil, nothing},
		"no-list":                {[]exchange{{API: apiSync, Reply: procapitest.Data(`{"list":[1,2]}`)}}, nil, nothing},
		"null-rows-and-a-count":  {[]exchange{{API: apiSync, Reply: procapitest.Data(`{"count":0,"proc_infos":null}`)}}, nil, ""},
		"no-rows-and-no-count":   {[]exchange{{API: apiSync, Reply: procapitest.Data(`{"proc_infos":[]}`)}}, nil, ""},
		"null-at-the-end":        {[]exchange{page("", rows(1, 2)...), {API: apiSync, Reply: procapitest.Data("null")}}, upTo(2), ""},
		"null-after-full-page":   {[]exchange{page("1000", rows(1, 1000)...), {API: apiSync, Reply: procapitest.Data("null")}}, upTo(1000), ""},
		"null-for-a-page":        {twice(page("1500", rows(1, 1000)...), exchange{API: apiSync, Reply: procapitest.Data("null")}), nil, short(1000, 1500)},
		"counts-no-more":         {twice(page("1500", rows(1, 1000)...), page("0")), nil, short(1000, 1500)},
		"counts-only-at-first":   {twice(page("1500", rows(1, 1000)...), page("", rows(1001, 1400)...), page("")), nil, short(1400, 1500)},
		"full-page":              {[]exchange{page("1000", rows(1, 1000)...), page("1000")}, upTo(1000), ""},
		"two-pages":              {[]exchange{page("1001", rows(1, 1000)...), page("1001", rows(1001, 1001)...)}, upTo(1001), ""},
		"three-pages":            {[]exchange{page("2500", rows(1, 1000)...), page("2500", rows(1001, 2000)...), page("2500", rows(2001, 2500)...)}, upTo(2500), ""},
		"row-twice":              {twice(page("1001", rows(1, 1000)...), page("1001", rows(999, 1001)...)), upTo(1001), ""},
		"slips-past-once":        {slices.Concat(slips(1000), []exchange{page("1002", rows(1, 1000)...), page("1002", rows(1001, 1002)...)}), upTo(1002), ""},
		"count-changes-once":     {[]exchange{page("1002", rows(1, 1000)...), page("1001", rows(1002, 1002)...), page("1001", rows(2, 1001)...), page("1001", rows(1002, 1002)...)}, numbers(2, 1002), ""},
		"slips-past-alike":       {twice(slips(1000)...), nil, short(1001, 1002)},
		"changed-since":          {slices.Concat([]exchange{page("1002", append(stopped, rows(2, 1000)...)...)}, slips(1000)[1:], []exchange{page("1002", rows(1, 1000)...), page("1002", rows(1001, 1002)...)}), upTo(1002), ""},
		"gone-since":             {slices.Concat(slips(1000), []exchange{page("1001", rows(2, 1001)...), page("1001", rows(1002, 1002)...)}), numbers(2, 1002), ""},
		"count-of-the-page":      {twice(page("1000", rows(1, 1000)...), page("1", rows(1001, 1001)...)), upTo(1001), ""},
		"slips-past-each-time":   {slices.Concat(slips(1000), slips(999), slips(998)), nil, `namespace "gse" changed each of the 3 times that it was listed, so that rows may be missing`},
		"count-grows":            {twice(page("1000.5", rows(1, 1000)...), page("2001", rows(1001, 2000)...), page("2001", rows(2001, 2001)...)), upTo(2001), ""},
		"count-shrinks":          {twice(page("2500", rows(1, 1000)...), page("1900", rows(1001, 1900)...)), upTo(1900), ""},
		"count-too-large":        {twice(page("9999", rows(1, 1000)...), page("9999", rows(1001, 1002)...), page("9999")), nil, short(1002, 9999)},
		"count-missing":          {[]exchange{page("", rows(1, 1000)...), page("", rows(1001, 1002)...), page("")}, upTo(1002), ""},
		"count-as-text":          {[]exchange{page(`"3"`, rows(1, 3)...)}, upTo(3), ""},
		"short-page":             {[]exchange{page("1002", rows(1, 998)...), page("1002", rows(999, 1002)...)}, upTo(1002), ""},
		"other-namespaces":       {[]exchange{page("3", rows(1, 1)[0], foreign, rows(2, 2)[0])}, upTo(2), ""},
		"agent-id-alone":         {[]exchange{page("2", agentRow, rows(1, 1)[0])}, upTo(1), `namespace "gse" has rows that name no host, of ["proc-test"]`},
		"agent-id-beside":        {[]exchange{page("1", beside)}, upTo(1), ""},
		"broken-rows":            {[]exchange{page("4", `{"meta":{"namespace":"gse"}}`, `7`, `{"meta":3}`, rows(1, 1)[0])}, upTo(1), `namespace "gse" has rows that name no host, of [""], and others that could not be read`},
		"start-ignored":          {twice(page("", rows(1, 1000)...), page("", rows(1, 1000)...)), upTo(1000), ""},
		"count-and-again":        {twice(page("9999", rows(1, 3)...), page("9999", rows(1, 3)...)), nil, short(3, 9999)},
		"counts-and-gives-none":  {twice(page("9999")), nil, short(0, 9999)},
		"counts-more-than-page":  {twice(page("900", rows(1, 500)...)), nil, short(500, 900)},
		"repeats-what-it-counts": {twice(page("2000", rows(1, 1000)...), page("2000", rows(1, 1000)...)), nil, short(1000, 2000)},
		"cloud-after-none":       {[]exchange{page("2", strings.Replace(rows(1, 1)[0], `,"bk_cloud_id":0`, "", 1), rows(1, 1)[0])}, upTo(1), `namespace "gse" has rows that name no host, of ["proc-test"]`},
		"no-cloud":               {[]exchange{page("2", strings.Replace(rows(7, 7)[0], `,"bk_cloud_id":0`, "", 1), rows(1, 1)[0])}, upTo(1), `namespace "gse" has rows that name no host, of ["proc-test"]`},
		"no-namespace":           {[]exchange{page("2", strings.Replace(rows(7, 7)[0], `"namespace":"gse",`, "", 1), rows(1, 1)[0])}, upTo(1), unread},
		"no-name":                {[]exchange{page("2", strings.Replace(rows(7, 7)[0], `,"name":"proc-test"`, "", 1), rows(1, 1)[0])}, upTo(1), unread},
		"passing-trouble":        {[]exchange{page("1001", rows(1, 1000)...), {API: apiSync, Reply: procapitest.Answer(http.StatusBadGateway, "")}, page("1001", rows(1001, 1001)...)}, upTo(1001), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := configured(t, "esb", retrying(1), test.steps...)
			var got []int
			listed, err := p.client.List(t.Context(), "gse", 0)
			for _, row := range listed {
				procapitest.Check(t, row.Name == "proc-test" && row.Status.State == fleet.Running, "got %+v", row)
				got = append(got, procapitest.NumberOf(row.Host))
			}
			if (err != nil) != (test.says != "") || err != nil && err.Error() != test.says {
				t.Errorf("said %v, want %q", err, test.says)
			}
			procapitest.WantEqual(t, "hosts", test.want, got)
			wantPages(t, script.Requests())
		})
	}
}

// wantPages checks that each request asks for the next thousand rows, or repeats the one before, which failed.
func wantPages(t *testing.T, bodies []json.RawMessage) {
	t.Helper()
	var starts []int
	for _, body := range bodies {
		var request syncRequest
		procapitest.NoError(t, json.Unmarshal(body, &request))
		procapitest.Check(t, request.Page.Limit == 1000 && request.Meta.Namespace == "gse", "asked for %s", body)
		starts = append(starts, request.Page.Start)
	}
	want := 0
	for _, start := range slices.Compact(starts) {
		if start != want && start != 0 { // unless it is read once more
			t.Errorf("pages start at %v", starts)
		}
		want = start + 1000
	}
}

// The test checks which rows are listed, and for which hosts. None is omitted silently.
func TestList_rows(t *testing.T) {
	t.Parallel()
	row := rows(1, 1)[0]
	for name, test := range map[string]struct {
		face     string
		rows     []string
		want     []string
		unplaced []string // names of processes
	}{
		// One host may run many processes, and two clouds may have the same address.
		"many-processes": {"esb", []string{
			row, row, strings.Replace(row, "proc-test", "other", 1),
			strings.Replace(row, `"bk_cloud_id":0`, `"bk_cloud_id":4`, 1),
			strings.Replace(row, `"bk_cloud_id":0`, `"bk_cloud_id":4,"bk_supplier_id":2`, 1),
		}, []string{"proc-test 0:9:10.0.0.1 running", "other 0:9:10.0.0.1 running", "proc-test 4:9:10.0.0.1 running, earlier 4:2:10.0.0.1"}, nil},
		"agent-in-host": {"apigw", []string{
			gatewayRow(`"host":{"bk_agent_id":"`+agentA+`"}`, 1), gatewayRow(`"host":{"bk_agent_id":"`+agentB+`"}`, 1),
		}, []string{"proc-test " + agentA + " running", "proc-test " + agentB + " running"}, nil},
		"gateway": {"apigw", []string{
			gatewayRow(`"bk_agent_id":"`+agentA+`"`, 1),
			gatewayRow(`"bk_agent_id":"`+agentA+`","host":{"ip":"","bk_cloud_id":0}`, 1), // the same
			gatewayRow(`"bk_agent_id":"`+agentB+`","host":{"ip":"10.0.0.1","bk_cloud_id":0}`, 2),
			gatewayRow(`"bk_agent_id":"","host":{"ip":"10.0.0.2","bk_cloud_id":0}`, 1),
			gatewayRow(`"bk_agent_id":"4:10.0.0.2"`, 2),
			gatewayRow(`"bk_agent_id":""`, 1),                                                // without a host
			strings.Replace(gatewayRow(`"bk_agent_id":"short"`, 1), "proc-test", "other", 1), // without a host
		}, []string{
			"proc-test " + agentA + " running", "proc-test " + agentB + " stopped, also 0:10.0.0.1", "proc-test 0:9:10.0.0.2 running", "proc-test 4:9:10.0.0.2 stopped",
		}, []string{"other", "proc-test"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := scripted(t, test.face, page(fmt.Sprint(len(test.rows)), test.rows...))
			var got []string
			listed, err := p.client.List(t.Context(), "gse", 9)
			for _, row := range listed {
				text := fmt.Sprintf("%s %s %s", row.Name, row.Host, row.Status.State)
				if row.Other != (fleet.HostID{}) {
					text += ", also " + row.Other.Address()
				}
				for _, host := range row.Earlier {
					text += ", earlier " + host.String()
				}
				got = append(got, text)
			}
			var unplaced *UnplacedError
			if errors.As(err, &unplaced); (err != nil) != (test.unplaced != nil) || err != nil && (unplaced == nil || !slices.Equal(unplaced.Processes, test.unplaced) || unplaced.Unreadable) {
				t.Errorf("got %v, want %q not to be placed", err, test.unplaced)
			}
			procapitest.WantEqual(t, "rows", test.want, got)
		})
	}
}

// Of two rows of one host, the later registration is listed, in any order, as the cached status of the process shows it. Supplier ids may not be
// among them.
func TestList_twoRows(t *testing.T) {
	t.Parallel()
	at := func(status, time int, host string) string {
		row := strings.Replace(rows(1, 1)[0], `"status":1`, fmt.Sprintf(`"status":%d,"register_time":%d`, status, time), 1)
		return strings.Replace(row, `"bk_cloud_id":0`, `"bk_cloud_id":0`+host, 1)
	}
	const five = `,"bk_supplier_id":5`
	for name, test := range map[string]struct {
		rows []string
		want string // nothing where it is not registered
	}{
		"kept-beside-the-new-one": {[]string{at(0, 100, ""), at(1, 200, "")}, "0:9:10.0.0.1 running []"},
		"stopped-since":           {[]string{at(1, 100, ""), at(2, 200, "")}, "0:9:10.0.0.1 stopped []"},
		"gone-since":              {[]string{at(1, 100, ""), at(0, 200, "")}, ""},
		"one-is-gone":             {[]string{at(1, 0, ""), at(0, 0, "")}, "0:9:10.0.0.1 running []"},
		"they-contradict":         {[]string{at(1, 100, ""), at(2, 100, "")}, "0:9:10.0.0.1 unknown []"},
		"three":                   {[]string{at(1, 100, ""), at(0, 200, ""), at(2, 300, "")}, "0:9:10.0.0.1 stopped []"},
		"of-two-suppliers":        {[]string{at(1, 100, ""), at(2, 200, five)}, "0:5:10.0.0.1 stopped [0:9:10.0.0.1]"},
		"gone-of-another":         {[]string{at(0, 100, ""), at(2, 200, five)}, "0:5:10.0.0.1 stopped []"},
		"gone-last-of-another":    {[]string{at(1, 100, ""), at(0, 200, five)}, "0:9:10.0.0.1 running []"},
		"three-of-two":            {[]string{at(1, 100, ""), at(0, 200, five), at(2, 300, five)}, "0:5:10.0.0.1 stopped [0:9:10.0.0.1]"},
	} {
		for _, order := range []string{"", "-backwards"} {
			t.Run(name+order, func(t *testing.T) {
				t.Parallel()
				list := slices.Clone(test.rows)
				if order != "" {
					slices.Reverse(list)
				}
				p, _ := scripted(t, "esb", page(fmt.Sprint(len(list)), list...))
				got := ""
				listed, err := p.client.List(t.Context(), "gse", 9)
				for _, row := range listed {
					got += fmt.Sprintf("%s %s %s", row.Host, row.Status.State, row.Earlier)
				}
				procapitest.Check(t, err == nil && got == test.want, "got %q, %v, want %q", got, err, test.want)
			})
		}
	}
}

func TestList_fails(t *testing.T) {
	t.Parallel()
	p, _ := scripted(t, "esb", page("2500", rows(1, 1000)...), exchange{API: apiSync, Reply: refusal(1306000)})
	_, err := p.client.List(t.Context(), "gse", 0)
	procapitest.Check(t, bkapi.HasCode(err, 1306000) && strings.Contains(err.Error(), `listing namespace "gse" from row 1000`),
		"got %v, want the platform's reason and where", err)
}

// A row without a name may be of any process.
func TestUnplacedError_MayHave(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err          UnplacedError
		have, prefix bool // of web
	}{
		"of-it":        {UnplacedError{Processes: []string{"db", "web"}}, true, true},
		"of-another":   {UnplacedError{Processes: []string{"web-1"}}, false, true},
		"of-no-such":   {UnplacedError{Processes: []string{"db"}}, false, false},
		"without-name": {UnplacedError{Processes: []string{""}}, true, true},
		"unreadable":   {UnplacedError{Unreadable: true}, true, true},
	} {
		if have, prefix := test.err.MayHave("web"), test.err.MayHavePrefix("web"); have != test.have || prefix != test.prefix {
			t.Errorf("%s: got %t and %t", name, have, prefix)
		}
	}
}

// crowd is a namespace with many processes, each on hosts of its own.
type crowd struct {
	t      *testing.T
	sim    *simulator.Server
	client *Client
	each   int
	now    time.Time // of the client, so that no deadline depends on the speed of the machine
}

func newCrowd(t *testing.T, processes, each int) *crowd {
	t.Helper()
	c := &crowd{t: t, sim: &simulator.Server{}, each: each, now: time.Now()}
	c.client = newTestClient(t, procapitest.Serve(t, c.sim), func(cfg *bkapi.Config, _ *procapi.Options) { cfg.MaxRetries = 0 })
	c.client.now, c.client.patience = func() time.Time { return c.now }, time.Hour
	spec, err := json.Marshal(sampleSpec())
	procapitest.NoError(t, err)
	for i := range processes {
		for _, h := range c.hosts(i) {
			labels := map[string]string{"number": strconv.Itoa(i)}
			procapitest.NoError(t, c.sim.Register(h.Address(), "gse", c.name(i), labels, string(spec)))
		}
	}
	return c
}

func (*crowd) name(i int) string { return fmt.Sprintf("proc-%d", i) }

func (c *crowd) hosts(i int) []fleet.Host {
	list := make([]fleet.Host, c.each)
	for k := range list {
		list[k] = host(i*c.each + k + 1)
	}
	return list
}

func (c *crowd) process(i int) *Process {
	return c.client.Process(Meta{Namespace: "gse", Name: c.name(i)}, sampleSpec())
}

// ask fails the test unless process i is registered on all its hosts, with its own status.
func (c *crowd) ask(ctx context.Context, i int) error {
	statuses, err := c.process(i).SharedStatus(ctx, c.hosts(i))
	if err != nil {
		return err
	}
	for _, h := range c.hosts(i) {
		if status := statuses[h]; status.State != fleet.Stopped || status.Labels["number"] != strconv.Itoa(i) {
			return fmt.Errorf("%s on %s: %+v", c.name(i), h.Address(), status)
		}
	}
	return nil
}

// want fails the test unless so many calls of each API were made since the last check.
func (c *crowd) want(own, listing int) {
	c.t.Helper()
	calls := c.sim.Calls()
	c.sim.ResetCalls()
	got := [2]int{calls.Count(apiStatus), calls.Count(apiSync)}
	procapitest.Check(c.t, got == [2]int{own, listing}, "%d calls of %s and %d of %s, want %d and %d", got[0], apiStatus, got[1], apiSync, own, listing)
}

func (c *crowd) askAll(processes int) {
	c.t.Helper()
	for i := range processes {
		err := c.ask(c.t.Context(), i)
		procapitest.Check(c.t, err == nil, "%s", err)
	}
}

func (c *crowd) waitFor(api string) {
	c.t.Helper()
	for c.sim.Calls().Count(api) == 0 {
		select {
		case <-c.t.Context().Done():
			c.t.Fatalf("no call of %s", api)
		case <-time.After(time.Millisecond):
		}
	}
}

// The test counts the calls that it takes to ask each of some processes in turn.
func TestSharedStatus_calls(t *testing.T) {
	t.Parallel()
	type asking struct {
		processes, own, listing int           // and the calls of either API
		later                   time.Duration // than the round before
	}
	everyone := func(own, listing int) []asking { return []asking{{12, own, listing, 0}} }
	for name, test := range map[string]struct {
		processes, each int
		fault           simulator.Fault // of the listing
		asked           []asking        // one round after the other
	}{
		// A few processes pay a call each, and nothing for a listing.
		"few": {sharedFrom, 3, simulator.Fault{}, []asking{{sharedFrom, sharedFrom, 0, 0}}},
		// A process that asks again and again shares with no other. A listing would also hide what the agents do in between.
		"alone": {12, 3, simulator.Fault{}, slices.Repeat([]asking{{1, 1, 0, 0}}, 3*sharedFrom)},
		"ages":  {12, 3, simulator.Fault{}, []asking{{12, 5, 1, 0}, {12, 0, 0, sharedFor}, {12, 0, 1, time.Millisecond}}},
		// If the other processes belong to other users, the cost is one look. The first page reports
		// twelve pages, and five calls are too few for those.
		"strangers": {12, 3, simulator.Fault{Replace: map[string]any{"data/count": 12_000}}, []asking{{5, 5, 0, 0}, {1, 1, 1, 0}}},
		// Processes that fill their requests gain nothing.
		"large": {sharedFrom + 1, 501, simulator.Fault{}, []asking{{sharedFrom + 1, sharedFrom + 1, 0, 0}}},
		// If the platform refuses to list, each process asks by itself without an error. Listing is not
		// tried again, nor is a listing whose rows have less than a status, or one that takes too long.
		"refused": {12, 3, simulator.Fault{HTTPStatus: http.StatusForbidden, Body: `{"code":1640301,"message":"no permission"}`}, everyone(12, 1)},
		"terse":   {12, 3, simulator.Fault{Replace: map[string]any{"data/proc_infos/*/isauto": nil}}, []asking{{12, 12, 1, 0}, {12, 12, 0, 2 * sharedFor}}},
		"hangs":   {12, 3, simulator.Fault{Delay: time.Hour}, everyone(12, 1)},
		// A row that the listing skips is asked for by itself, and is not drift.
		"skipped": {12, 3, simulator.Fault{Missing: -1, Hosts: []string{host(9*3 + 2).Address()}}, everyone(6, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, test.processes, test.each)
			if test.fault.Delay > 0 {
				c.client.patience = time.Second // enough for the request to arrive
			}
			test.fault.API = apiSync
			c.sim.Inject(test.fault)
			for _, a := range test.asked {
				c.now = c.now.Add(a.later)
				c.askAll(a.processes)
				c.want(a.own, a.listing)
			}
		})
	}
}

// The next process that asks sees a change by this client.
func TestSharedStatus_change(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]procapitest.Call{
		"register": procapitest.Register, "reregister": procapitest.Reregister, "unregister": procapitest.Unregister, "operate": procapitest.Operate(fleet.Start),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, 12, 3)
			c.askAll(12)
			c.want(5, 1)
			p, hosts := c.process(11), c.hosts(11)
			change(t.Context(), p, hosts)
			c.sim.ResetCalls()
			shared := procapitest.OrError(p.SharedStatus(t.Context(), hosts))
			procapitest.WantEqual(t, "shared", procapitest.CachedStatus(t.Context(), p, hosts), shared)
			// Whatever the change did, the namespace was listed again.
			procapitest.WantEqual(t, "calls of "+apiSync, 1, c.sim.Calls().Count(apiSync))
		})
	}
}

// A listing made during a change is not used for a process that asks after the change.
func TestSharedStatus_duringChange(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 12, 3)
	c.askAll(5)
	held := c.sim.Inject(simulator.Fault{API: apiUpdate, Stall: time.Hour})
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan fleet.Results)
	go func() { done <- c.process(11).Reregister(ctx, c.hosts(11)) }()
	c.waitFor(apiUpdate)
	c.sim.ResetCalls()
	c.askAll(11)
	c.want(0, 1)
	interrupt()
	<-done
	c.sim.ClearFault(held)
	c.askAll(11)
	c.want(0, 1)
}

// A process that waits for a listing waits no longer than its deadline. If the process that lists gives up, the next one lists.
func TestSharedStatus_givesUp(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 12, 3)
	c.askAll(5)
	held := c.sim.Inject(simulator.Fault{API: apiSync, Delay: time.Hour})
	leader, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- c.ask(leader, 5) }()
	c.waitFor(apiSync)
	// Ctrl-C ends the wait itself: the follower makes no further call, and the leader still waits.
	follower, interrupt := context.WithCancel(t.Context())
	interrupted := make(chan error)
	go func() { interrupted <- c.ask(follower, 6) }()
	interrupt()
	select {
	case err := <-interrupted:
		procapitest.Check(t, errors.Is(err, context.Canceled) && !errors.As(err, new(*bkapi.Error)),
			"the follower got %v, which is not the end of its own wait", err)
	case <-time.After(8 * time.Second):
		t.Error("the follower waits on")
	case err := <-left:
		t.Fatalf("the leader got %v, which it was to wait for", err)
	}
	c.want(5, 1)
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the leader got %v", err)
	}
	c.sim.ClearFault(held)
	c.sim.ResetCalls()
	c.askAll(12)
	c.want(0, 1)
}

// If two rows claim a host, or a row names no host, the listing is not used for it.
func TestListing_rows(t *testing.T) {
	t.Parallel()
	foreign := strings.Replace(cachedRow(4, 1), `"gse"`, `"other"`, 1)
	p, _ := scripted(t, "apigw", page("5", cachedRow(1, 1), cachedRow(2, 1), cachedRow(1, 2), gatewayRow(`"bk_agent_id":""`, 1), foreign))
	n := p.client.namespace(sampleMeta.Namespace)
	n.calls.Store(sharedFrom) // so that a listing saves calls
	listed, err := n.list(t.Context(), 0)
	procapitest.NoError(t, err)
	of := func(n int) fleet.Status { return listed.rows[processOn{sampleMeta.Name, host(n).WithoutSupplier()}] }
	if twice, once := of(1), of(2); twice.State != fleet.Unknown || once.State != fleet.Running || len(listed.rows) != 2 {
		t.Errorf("twice: %+v, once: %+v, of %d", twice, once, len(listed.rows))
	}
}
