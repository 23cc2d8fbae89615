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
		"not hosted, and not running":            {refreshed{was: status(fleet.NotHosted), found: found(fleet.NotRunning)}, fleet.NotHosted},
		"found before, and hosted since":         {refreshed{was: diagnose.Drifted(fleet.NotHosted, []fleet.Code{fleet.NotHosted, fleet.NotRunning}, nil), found: found(fleet.NotRunning)}, fleet.NotRunning},
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
		"unhealthy, and down":                    {refreshed{was: status(fleet.Unhealthy), found: found(fleet.NotRunning)}, fleet.NotRunning},
		"not operated, and not hosted":           {refreshed{was: status(fleet.NotOperated), found: found(fleet.NotHosted)}, fleet.NotOperated},
		"not operated, and of another spec":      {refreshed{was: status(fleet.NotOperated), found: found(fleet.OtherSpec)}, fleet.OtherSpec},
		"other spec, and not hosted":             {refreshed{was: status(fleet.OtherSpec), found: found(fleet.NotHosted)}, fleet.OtherSpec},
		"other spec, made since, and not hosted": {refreshed{was: status(fleet.OtherSpec), found: found(fleet.NotHosted), made: true}, fleet.NotHosted},
	} {
		got := c.of.status()
		if got.Code != c.want || got.Code == c.of.was.Code && got.Text != c.of.was.Text {
			t.Errorf("%s: %q, want %q", name, got, c.want)
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
		before.hosts[id] = entry{At: 1600000000 + int64(i%5), Supplier: i % 2}
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
			if diff := cmp.Diff(importID{}, parsed, cmp.AllowUnexported(importID{})); diff != "" {
				t.Errorf("%q: beside the error (-want +got):\n%s", id, diff)
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
		if diff := cmp.Diff(parsed, again, cmp.AllowUnexported(importID{})); diff != "" {
			t.Errorf("%q became %q (-first +again):\n%s", id, written, diff)
		}
	})
}
