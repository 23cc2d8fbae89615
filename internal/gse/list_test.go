package gse

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// page is an answer of sync_proc_status.
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

// slips are two pages of a list that moved between them: one row is on both, so row 1001 is on neither.
func slips(repeated int) []exchange {
	return []exchange{page("1002", rows(1, 1000)...), page("1002", append(rows(repeated, repeated), rows(1002, 1002)...)...)}
}

// twice is a list that is read twice.
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
	const unread = `namespace "gse" has rows that could not be read`
	short := func(rows, count int) string {
		return fmt.Sprintf(`the pages of namespace "gse" have only %d of the %d rows that they count`, rows, count)
	}
	for name, test := range map[string]struct {
		steps []exchange
		want  []int  // hosts in order
		says  string // about rows that could not be placed, or are missing
	}{
		"null":                   {[]exchange{{API: apiSync, Reply: procapitest.Data("null")}}, nil, ""},
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
			err := p.client.List(t.Context(), "gse", 0, func(row Row) bool {
				if row.Name != "proc-test" || row.Status.State != fleet.Running {
					t.Errorf("got %+v", row)
				}
				got = append(got, procapitest.NumberOf(row.Host))
				return true
			})
			if (err != nil) != (test.says != "") || err != nil && err.Error() != test.says {
				t.Errorf("said %v, want %q", err, test.says)
			}
			procapitest.WantEqual(t, "hosts", test.want, got)
			wantPages(t, script.Requests())
		})
	}
}

// wantPages checks that each request asks for the next thousand rows, or repeats the one before, which
// failed.
func wantPages(t *testing.T, bodies []json.RawMessage) {
	t.Helper()
	var starts []int
	for _, body := range bodies {
		var request syncRequest
		procapitest.NoError(t, json.Unmarshal(body, &request))
		if request.Page.Limit != 1000 || request.Meta.Namespace != "gse" {
			t.Errorf("asked for %s", body)
		}
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

// Which rows are listed, and for which hosts. None is left out silently.
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
		}, []string{"proc-test 0:9:10.0.0.1 running", "other 0:9:10.0.0.1 running", "proc-test 4:9:10.0.0.1 running", "proc-test 4:2:10.0.0.1 running"}, nil},
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
			err := p.client.List(t.Context(), "gse", 9, func(row Row) bool {
				text := fmt.Sprintf("%s %s %s", row.Name, row.Host, row.Status.State)
				if row.Other != (fleet.HostID{}) {
					text += ", also " + row.Other.Address()
				}
				got = append(got, text)
				return true
			})
			var unplaced *UnplacedError
			if errors.As(err, &unplaced); (err != nil) != (test.unplaced != nil) || err != nil && (unplaced == nil || !slices.Equal(unplaced.Processes, test.unplaced) || unplaced.Unreadable) {
				t.Errorf("got %v, want %q not to be placed", err, test.unplaced)
			}
			procapitest.WantEqual(t, "rows", test.want, got)
		})
	}
}

// A caller that needs only the first rows does not wait for the others.
func TestEach_stops(t *testing.T) {
	t.Parallel()
	p, script := scripted(t, "esb", page("2500", rows(1, 1000)...))
	seen := 0
	if err := p.client.Each(t.Context(), "gse", 0, func(Row) bool { seen++; return seen < 5 }); err != nil || seen != 5 {
		t.Errorf("got %d rows, %v, want to stop at 5", seen, err)
	}
	if n := len(script.Requests()); n != 1 {
		t.Errorf("got %d requests, want 1", n)
	}
}

func TestList_fails(t *testing.T) {
	t.Parallel()
	p, _ := scripted(t, "esb", page("2500", rows(1, 1000)...), exchange{API: apiSync, Reply: refusal(1306000)})
	err := p.client.List(t.Context(), "gse", 0, func(Row) bool { return true })
	if !bkapi.HasCode(err, 1306000) || !strings.Contains(err.Error(), `listing namespace "gse" from row 1000`) {
		t.Errorf("got %v, want the platform's reason and where", err)
	}
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
