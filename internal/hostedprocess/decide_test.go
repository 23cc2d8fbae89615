package hostedprocess

import (
	"encoding/json"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

func TestRefreshed(t *testing.T) {
	t.Parallel()
	var (
		none   diagnose.HostStatus
		status = func(code fleet.Code) diagnose.HostStatus {
			return diagnose.HostStatus{Code: code, Text: "as before"}
		}
		found = func(code fleet.Code) diagnose.HostStatus { return diagnose.HostStatus{Code: code} }
		row   = fleet.Status{State: fleet.Stopped, Labels: map[string]string{"tf_spec": "v1-0"}}
	)
	for name, c := range map[string]struct {
		of   refreshed
		want fleet.Code // keeps its text if the code is unchanged
	}{
		"drift":                                  {refreshed{was: none, found: found(fleet.NotHosted)}, fleet.NotHosted},
		"repaired by hand":                       {refreshed{was: status(fleet.NotRunning)}, ""},
		"not started, and not hosted":            {refreshed{was: status(fleet.NotRunning), found: found(fleet.NotHosted)}, fleet.NotRunning},
		"not hosted, and nothing says it is":     {refreshed{was: status(fleet.NotHosted), unsaid: true}, fleet.NotHosted},
		"not hosted, and hosted since":           {refreshed{was: status(fleet.NotHosted)}, ""},
		"not hosted, and not running":            {refreshed{was: status(fleet.NotHosted), found: found(fleet.NotRunning)}, fleet.NotHosted},
		"found before, and hosted since":         {refreshed{was: diagnose.Drifted([]fleet.Code{fleet.NotHosted, fleet.NotRunning}, nil), found: found(fleet.NotRunning)}, fleet.NotRunning},
		"not started, and of another spec":       {refreshed{was: status(fleet.NotRunning), found: found(fleet.OtherSpec)}, fleet.OtherSpec},
		"away":                                   {refreshed{was: status(fleet.NotRunning), away: true}, fleet.NotRunning},
		"still refused":                          {refreshed{was: status(fleet.NotRegistered), found: found(fleet.NoLongerRegistered), labelled: true}, fleet.NotRegistered},
		"unconfirmed, and another's by now":      {refreshed{was: status(fleet.Unconfirmed), found: found(fleet.OtherSpec), row: row, labelled: true}, fleet.RegisteredByOther},
		"unconfirmed, with an earlier spec":      {refreshed{was: status(fleet.Unconfirmed), found: found(fleet.OtherSpec), row: row, ours: true, labelled: true}, fleet.OtherSpec},
		"unconfirmed, and an old picture":        {refreshed{was: status(fleet.Unconfirmed), found: found(fleet.OtherSpec), row: fleet.Status{State: fleet.Stopped}, labelled: true}, fleet.Unconfirmed},
		"unconfirmed, and made":                  {refreshed{was: status(fleet.Unconfirmed), row: row, made: true, ours: true, labelled: true}, ""},
		"unconfirmed, and nothing shows it":      {refreshed{was: status(fleet.Unconfirmed), labelled: true}, fleet.Unconfirmed},
		"another's":                              {refreshed{was: status(fleet.RegisteredByOther)}, fleet.RegisteredByOther},
		"another's, and gone":                    {refreshed{was: status(fleet.RegisteredByOther), found: found(fleet.NoLongerRegistered)}, fleet.NotRegistered},
		"another's, and registered by us since":  {refreshed{was: status(fleet.RegisteredByOther), row: row, made: true}, ""},
		"unhealthy, and runs":                    {refreshed{was: status(fleet.Unhealthy)}, fleet.Unhealthy},
		"unhealthy, and down":                    {refreshed{was: status(fleet.Unhealthy), found: found(fleet.NotRunning)}, fleet.Unhealthy},
		"not operated, and not hosted":           {refreshed{was: status(fleet.NotOperated), found: found(fleet.NotHosted)}, fleet.NotOperated},
		"not operated, and of another spec":      {refreshed{was: status(fleet.NotOperated), found: found(fleet.OtherSpec)}, fleet.OtherSpec},
		"other spec, and not hosted":             {refreshed{was: status(fleet.OtherSpec), found: found(fleet.NotHosted)}, fleet.OtherSpec},
		"other spec, made since, and not hosted": {refreshed{was: status(fleet.OtherSpec), found: found(fleet.NotHosted), made: true}, fleet.NotHosted},
		"other spec, and still so":               {refreshed{was: status(fleet.OtherSpec), found: found(fleet.OtherSpec)}, fleet.OtherSpec},
		"unconfirmed, and gone without labels":   {refreshed{was: status(fleet.Unconfirmed), found: found(fleet.NoLongerRegistered)}, fleet.Unconfirmed},
		"unconfirmed, and gone by an older row":  {refreshed{was: status(fleet.Unconfirmed), found: found(fleet.NoLongerRegistered), row: row, ours: true, labelled: true}, fleet.Unconfirmed},
	} {
		got := c.of.status()
		if got.Code != c.want || got.Code == c.of.was.Code && got.Text != c.of.was.Text {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What an apply does on a host that stays, by what is known of it.
func TestStepOn(t *testing.T) {
	t.Parallel()
	var none wanted
	changes, raises, adopts := wanted{changes: true}, wanted{raises: true}, wanted{adopts: true}
	for name, c := range map[string]struct {
		wanted wanted
		of     situation
		want   step
	}{
		"as declared":                            {none, situation{}, keepAsIs},
		"changed":                                {changes, situation{}, reregister},
		"more is ensured":                        {raises, situation{}, settle},
		"not hosted":                             {none, situation{code: fleet.NotHosted}, settle},
		"not operated":                           {none, situation{code: fleet.NotOperated}, settle},
		"not hosted, and changed":                {changes, situation{code: fleet.NotHosted}, reregister},
		"other spec":                             {none, situation{code: fleet.OtherSpec}, reregister},
		"other labels":                           {none, situation{code: fleet.OtherLabels}, reregister},
		"not registered":                         {none, situation{code: fleet.NotRegistered}, register},
		"unconfirmed":                            {changes, situation{code: fleet.Unconfirmed}, register},
		"unregistered":                           {changes, situation{code: fleet.NoLongerRegistered}, register},
		"another's":                              {changes, situation{code: fleet.RegisteredByOther}, registerUnowned},
		"another's, and adopted":                 {adopts, situation{code: fleet.RegisteredByOther}, register},
		"overtaken":                              {none, situation{overtaken: true}, keepAsIs},
		"overtaken, and not hosted":              {none, situation{code: fleet.NotHosted, overtaken: true}, reregister},
		"overtaken, and more is ensured":         {raises, situation{overtaken: true}, reregister},
		"another is under way":                   {none, situation{inFlight: true}, keepAsIs},
		"another is under way, and not hosted":   {none, situation{code: fleet.NotHosted, inFlight: true}, reregister},
		"away":                                   {none, situation{code: fleet.NotHosted, away: true}, keepAsIs},
		"away, and changed":                      {changes, situation{away: true}, reregister},
		"away, and more is ensured":              {raises, situation{away: true}, settle},
		"away, and the ledger is lost":           {none, situation{away: true, looked: true}, settle},
		"the ledger is lost":                     {none, situation{looked: true}, settle},
		"the ledger is lost, no row":             {none, situation{looked: true, absent: true}, register},
		"the ledger is lost, the row is another": {none, situation{looked: true, other: true}, reregister},
		"left by another object of the run":      {none, situation{absent: true}, register},
	} {
		if got := c.wanted.stepOn(c.of); got != c.want {
			t.Errorf("%s: step %d, want %d", name, got, c.want)
		}
	}
}

// hostOf returns 0:10.0.0.n.
func hostOf(n byte) fleet.Host { return fleet.NewHost(0, 0, netip.AddrFrom4([4]byte{10, 0, 0, n})) }

// The task of a hosting or a start stays in a ledger until it has ended. A hosting over a registration of this object
// has taken effect once the agent reports another time.
func TestLedger_afterApply(t *testing.T) {
	t.Parallel()
	host := hostOf(1)
	hosting, start := fleet.Task{ID: "T", Operation: fleet.Supervise}, fleet.Task{ID: "T", Operation: fleet.Start}
	fresh, over, restart := hosting, hosting, fleet.Task{ID: "R", Operation: fleet.Restart}
	fresh.Fresh, over.RegisterTime = true, 5
	found := func(ended bool, times map[fleet.Host]int64) fleet.Found {
		return fleet.Found{Registered: times, Ended: map[fleet.Host]bool{host: ended}}
	}
	started := func(registered, started int64) fleet.Found {
		return fleet.Found{Registered: map[fleet.Host]int64{host: registered}, Started: map[fleet.Host]int64{host: started}}
	}
	goesOn := func(task fleet.Task) fleet.Outcome {
		return fleet.Outcome{Verdict: fleet.Pending, Underway: task, Left: fleet.NotHosted}
	}
	unconfirmed := goesOn(restart)
	unconfirmed.Left = fleet.OperationUnconfirmed
	for name, c := range map[string]struct {
		before entry
		o      fleet.Outcome
		found  fleet.Found
		want   entry
	}{
		"done":                         {entry{At: 5}, fleet.Outcome{}, found(false, map[fleet.Host]int64{host: 6}), entry{At: 6}},
		"not asked":                    {entry{At: 5}, fleet.Outcome{}, found(false, nil), entry{At: 5}},
		"started after that":           {entry{At: 5, Started: 5}, fleet.Outcome{}, started(6, 7), entry{At: 6, Started: 7}},
		"started before":               {entry{At: 5, Started: 5}, fleet.Outcome{}, started(6, 4), entry{At: 6}},
		"started, no time is known":    {entry{At: 5, Started: 5}, fleet.Outcome{}, started(0, 7), entry{}},
		"not asked, and started":       {entry{At: 5, Started: 6}, fleet.Outcome{}, found(false, nil), entry{At: 5, Started: 6}},
		"hosting goes on":              {entry{At: 5}, goesOn(hosting), found(false, nil), entry{At: 5, Task: over}},
		"hosting goes on, not known":   {entry{At: 5}, goesOn(hosting), found(false, map[fleet.Host]int64{host: 0}), entry{Task: over}},
		"hosting goes on afresh":       {entry{At: 5}, goesOn(fresh), found(false, nil), entry{At: 5, Task: fresh}},
		"hosting goes on over another": {entry{At: 5, Overtaken: 9}, goesOn(hosting), found(false, nil), entry{At: 5, Overtaken: 9, Task: hosting}},
		"hosting still goes on":        {entry{At: 5, Task: hosting}, goesOn(hosting), found(false, nil), entry{At: 5, Task: hosting}},
		"hosting goes on over a time":  {entry{At: 4}, goesOn(over), found(false, nil), entry{At: 4, Task: over}},
		"a start goes on":              {entry{At: 5}, goesOn(start), found(false, nil), entry{At: 5, Task: start}},
		"a start has ended":            {entry{At: 5, Task: start}, fleet.Outcome{}, found(true, nil), entry{At: 5}},
		"a start is not asked for":     {entry{At: 5, Task: start}, fleet.Outcome{}, found(false, nil), entry{At: 5, Task: start}},
		"a restart goes on":            {entry{At: 5}, unconfirmed, found(false, nil), entry{At: 5}},
		"a restart still goes on":      {entry{Runs: fleet.Runs{Task: restart}}, goesOn(restart), found(false, nil), entry{Runs: fleet.Runs{Task: restart}}},
	} {
		if got := c.before.afterApply(host, c.o, c.found); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A registration is this object's if it names this object, or carries what it has declared and names no other.
func TestLedger_ours(t *testing.T) {
	t.Parallel()
	named := func(fingerprint, owner string) map[string]string {
		return map[string]string{"tf_spec": fingerprint, "tf_spec_owner": owner}
	}
	d := fleet.Desired{FingerprintLabel: "tf_spec", Fingerprint: "v1-new"}
	for name, c := range map[string]struct {
		owner  string
		labels map[string]string
		want   bool
	}{
		"its own":                        {"us", named("v1-last", "us"), true},
		"its own, with another spec":     {"us", named("v1-other", "us"), true},
		"another's, with its spec":       {"us", named("v1-last", "them"), false},
		"another's":                      {"us", named("v1-other", "them"), false},
		"nobody's, with its spec":        {"us", map[string]string{"tf_spec": "v1-last"}, false},
		"another's, and it has no id":    {"", named("v1-other", "them"), false},
		"its spec, and it has no id":     {"", named("v1-last", "them"), true},
		"new spec, and it has no id":     {"", named("v1-new", "them"), false},
		"earlier spec, and it has no id": {"", map[string]string{"tf_spec": "v1-earlier"}, true},
		"nobody's, and it has no id":     {"", map[string]string{"tf_spec": "v1-new"}, true},
	} {
		l := ledger{owner: c.owner, declared: declared{FingerprintLabel: "tf_spec", Fingerprint: "v1-last", Earlier: []string{"v1-earlier"}}}
		if got := l.ours(d, fleet.Status{State: fleet.Stopped, Labels: c.labels}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Earlier fingerprints are forgotten once every row shows the last one. One that came back is kept.
func TestLedger_seen(t *testing.T) {
	t.Parallel()
	one, two := hostOf(1), hostOf(2)
	made := fleet.Status{State: fleet.Stopped, Labels: map[string]string{"tf_spec": "v1-last", "tf_spec_owner": "us"}}
	old := fleet.Status{State: fleet.Stopped, Labels: map[string]string{"tf_spec": "v1-earlier", "tf_spec_owner": "us"}}
	for name, c := range map[string]struct {
		earlier []string
		rows    map[fleet.Host]fleet.Status
		want    int // how many are kept
	}{
		"all show it":  {[]string{"v1-earlier"}, map[fleet.Host]fleet.Status{one: made, two: made}, 0},
		"one does not": {[]string{"v1-earlier"}, map[fleet.Host]fleet.Status{one: made, two: old}, 1},
		"one is gone":  {[]string{"v1-earlier"}, map[fleet.Host]fleet.Status{one: made}, 1},
		"it came back": {[]string{"v1-earlier", "v1-last"}, map[fleet.Host]fleet.Status{one: made, two: made}, 2},
	} {
		for _, owner := range []string{"us", ""} { // an import without an owner keeps no times
			l := ledger{owner: owner, declared: declared{FingerprintLabel: "tf_spec", Fingerprint: "v1-last", Earlier: c.earlier}}
			after, changed := l.seen(fleet.Desired{}, []fleet.Host{one, two}, c.rows, nil)
			if len(after.Earlier) != c.want || changed != (c.want != len(c.earlier)) {
				t.Errorf("%s: changed %t; kept %v", name, changed, after.Earlier)
			}
		}
	}
}

// A ledger survives encoding, and takes few bytes for each host of a large fleet.
func TestLedger_encode(t *testing.T) {
	t.Parallel()
	before := ledger{declared: declared{Fingerprint: "v1", Labels: map[string]string{"a": "b"}}, kept: true, hosts: map[fleet.HostID]entry{}}
	const hosts = 2000
	for i := range hosts {
		id := fleet.NewHost(i%3, 0, netip.AddrFrom4([4]byte{10, byte(i * 7), byte(i >> 8), byte(i)})).WithoutSupplier()
		before.hosts[id] = entry{At: 1600000000 + int64(i%5), Before: i%2 == 0}
	}
	raw, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var after ledger
	if err := json.Unmarshal(raw, &after); err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("%v: it differs after decoding", err)
	}
	if perHost := float64(len(raw)) / hosts; perHost > 8 {
		t.Errorf("%.1f bytes for each host", perHost)
	}
	for name, broken := range map[string][]byte{"truncated": raw[:len(raw)/2], "another form": []byte(`{}`), "not compressed": []byte(`"bm90"`)} {
		if json.Unmarshal(broken, &after) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// An import id that parses can be rebuilt from its parts, and then means the same.
func FuzzParseImportID(f *testing.F) {
	for _, id := range []string{
		"web:nginx", "web:nginx@0:10.0.0.1", "web:nginx@0:10.0.0.1, 0:0:[2001:db8::1]", "web:nginx:1@" + strings.Repeat("0a", 16),
		"web:nginx@", "web", ":", "@", "web:nginx@@", "web:nginx@,", "we\u00a0b:nginx", "web:nginx@0:10.0.0.1@b", "web:nginx@a=0:10.0.0.1, b=c=d", "\xff:\x00",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		parsed, err := parseImportID(id)
		if err != nil {
			if parsed != nil {
				t.Errorf("%q: beside the error: %+v", id, parsed)
			}
			return
		}
		if parsed.namespace == "" || parsed.name == "" {
			t.Errorf("%q has an empty part: %+v", id, parsed)
		}
		written := parsed.namespace + ":" + parsed.name
		separator := "@"
		for _, key := range slices.Sorted(maps.Keys(parsed.hosts)) {
			if key == "" || parsed.hosts[key] == "" {
				t.Errorf("%q has an empty host: %+v", id, parsed)
			}
			written += separator + key + "=" + parsed.hosts[key]
			separator = ","
		}
		again, err := parseImportID(written)
		if err != nil {
			t.Fatalf("%q became %q: %v", id, written, err)
		}
		if diff := cmp.Diff(parsed, again, cmp.AllowUnexported(foundProcess{})); diff != "" {
			t.Errorf("%q became %q (-first +again):\n%s", id, written, diff)
		}
	})
}
