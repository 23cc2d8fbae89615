package fleet_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

func inventory(t *testing.T, addresses map[string]string) fleet.Inventory {
	t.Helper()
	r, faults := fleet.NewInventory(maps.All(addresses), 0)
	for _, fault := range faults {
		t.Fatal(fault)
	}
	return r
}

// Waves and messages take hosts in this order.
//
// Promised in how-it-works.md: Hosts go in natural order of their keys, `web-9` before `web-10`.
func TestInventory_naturalOrder(t *testing.T) {
	t.Parallel()
	r := inventory(t, map[string]string{"web-10": "0:10.0.0.1", "web-9": "0:10.0.0.2", "db-2": "0:10.0.0.3", "web-09": "0:1:10.0.0.4", "web-100": "0:10.0.0.5"})
	var keys []string
	for key, host := range r.All {
		keys = append(keys, key)
		found, ok := r.HostOf(key)
		fleettest.Check(t, ok && found == host, "%s is %v", key, found)
	}
	want := []string{"db-2", "web-09", "web-9", "web-10", "web-100"}
	fleettest.Check(t, slices.Equal(keys, want), "got %q, want %q", keys, want)
	if host, _ := r.HostOf("web-09"); host.SupplierID() != 1 {
		t.Errorf("the supplier of web-09 is %d", host.SupplierID())
	}
	if host, found := r.HostOf("web-11"); found {
		t.Errorf("web-11 is %v", host)
	}
}

func TestNewInventory_faults(t *testing.T) {
	t.Parallel()
	same := func(key, address, other string) string {
		return fmt.Sprintf("host %q: %q is the same host as %q under key \"a\"; name each host once", key, address, other)
	}
	for name, test := range map[string]struct {
		addresses map[string]string
		want      []string
		holds     []string
	}{
		"none":             {nil, nil, nil},
		"good":             {map[string]string{"b": "0:10.0.0.2", "a": "0:10.0.0.1"}, nil, []string{"a", "b"}},
		"another-cloud":    {map[string]string{"a": "0:10.0.0.1", "b": "1:10.0.0.1"}, nil, []string{"a", "b"}},
		"same-address":     {map[string]string{"b": "0:10.0.0.1", "a": "0:10.0.0.1"}, []string{same("b", "0:10.0.0.1", "0:10.0.0.1")}, []string{"a"}},
		"another-spelling": {map[string]string{"a": "0:2001:db8::1", "b": "0:2001:DB8:0::1"}, []string{same("b", "0:2001:DB8:0::1", "0:2001:db8::1")}, []string{"a"}},
		// The operate and status APIs do not carry the supplier id.
		"another-supplier": {map[string]string{"a": "0:1:10.0.0.1", "b": "0:2:10.0.0.1"}, []string{same("b", "0:2:10.0.0.1", "0:1:10.0.0.1")}, []string{"a"}},
		"agent-id-in-capitals": {
			map[string]string{"a": strings.Repeat("0a", 16), "b": strings.Repeat("0A", 16)},
			nil, // another id
			[]string{"a", "b"},
		},
		"three-of-a-kind": {
			map[string]string{"a": "0:10.0.0.1", "b": "0:0:10.0.0.1", "c": "0:::ffff:10.0.0.1"},
			[]string{same("b", "0:0:10.0.0.1", "0:10.0.0.1"), same("c", "0:::ffff:10.0.0.1", "0:10.0.0.1")}, []string{"a"},
		},
		"unreadable-among-good": {
			map[string]string{"a": "0:10.0.0.1", "b": "0:fe80::1%eth0", "c": "0:10.0.0.3"},
			[]string{`host "b": not a host address: "0:fe80::1%eth0": an IPv6 zone means nothing to another machine; leave out %eth0`},
			[]string{"a", "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inventory, faults := fleet.NewInventory(maps.All(test.addresses), 0)
			var got, holds []string
			for _, fault := range faults {
				got = append(got, fault.Error())
			}
			for key := range inventory.All {
				holds = append(holds, key)
			}
			fleettest.Same(t, "faults", test.want, got)
			fleettest.Same(t, "keys", test.holds, holds)
			fleettest.Same(t, "Len", len(test.holds), inventory.Len())
		})
	}
}

func TestInventory_order(t *testing.T) {
	t.Parallel()
	r := inventory(t, map[string]string{"c": "0:10.0.0.1", "a": "0:10.0.0.3", "b": "0:10.0.0.2"})
	want := hosts(3, 2, 1)
	fleettest.Same(t, "Hosts", want, r.Hosts(), byString)
	odd := r.Pick(func(h fleet.Host) bool { return number(h) != 2 })
	fleettest.Same(t, "Pick", hosts(3, 1), odd, byString)
	for key, h := range r.All {
		fleettest.Check(t, key == "a" && h == host(3), "All begins with %s, %v", key, h)
		break
	}
	slices.Reverse(r.Hosts())
	fleettest.Same(t, "the caller changed the inventory", want, r.Hosts(), byString)
}

// The inventory finds a host that it holds with another supplier id.
func TestInventory_suppliers(t *testing.T) {
	t.Parallel()
	r := inventory(t, map[string]string{"a": "0:3:10.0.0.2", "b": "0:10.0.0.3", "c": "0:5:10.0.0.1"})
	for n, want := range map[int]struct {
		key      string
		supplier int
	}{1: {"c", 5}, 2: {"a", 3}, 3: {"b", 0}} {
		for _, supplier := range []int{0, 5, 9} {
			h := fleet.NewHost(0, supplier, host(n).IP())
			fleettest.Check(t, r.Has(h), "Has: want %s", h)
			fleettest.Same(t, fmt.Sprintf("Key of %s", h), want.key, r.Key(h))
			found, _ := r.Find(h.WithoutSupplier())
			fleettest.Same(t, fmt.Sprintf("supplier of %s", h), want.supplier, found.SupplierID())
		}
	}
	other := fleet.NewHost(1, 5, host(1).IP())
	fleettest.Check(t, !r.Has(other) && r.Key(other) == "1:10.0.0.1", "%s is on another cloud, and the inventory should not hold it", other)
}

func TestInventory_Without(t *testing.T) {
	t.Parallel()
	before := map[string]string{"a": "0:10.0.0.1", "b": "0:10.0.0.2", "c": "0:10.0.0.3"}
	for name, test := range map[string]struct {
		after         map[string]string
		gone, arrived []fleet.Host
	}{
		"same":             {before, nil, nil},
		"empty":            {nil, hosts(1, 2, 3), nil},
		"renamed-key":      {map[string]string{"x": "0:10.0.0.1", "b": "0:10.0.0.2", "c": "0:10.0.0.3"}, nil, nil},
		"other-spelling":   {map[string]string{"a": "0:0:10.0.0.1", "b": "0:10.0.0.2", "c": "0:10.0.0.3"}, nil, nil},
		"other-supplier":   {map[string]string{"a": "0:7:10.0.0.1", "b": "0:10.0.0.2", "c": "0:10.0.0.3"}, nil, nil},
		"swapped":          {map[string]string{"a": "0:10.0.0.2", "b": "0:10.0.0.1", "c": "0:10.0.0.3"}, nil, nil},
		"from-the-middle":  {map[string]string{"a": "0:10.0.0.1", "c": "0:10.0.0.3"}, hosts(2), nil},
		"key-moved-to-new": {map[string]string{"a": "0:10.0.0.9", "b": "0:10.0.0.2", "c": "0:10.0.0.3"}, hosts(1), hosts(9)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, fresh := inventory(t, before), inventory(t, test.after)
			fleettest.Same(t, "gone", test.gone, old.Without(fresh), byString)
			fleettest.Same(t, "arrived", test.arrived, fresh.Without(old), byString)
		})
	}
}

// byString shows hosts in a diff as users write them.
var byString = cmp.Transformer("String", fleet.Host.String)

// A changed fingerprint shows every host of every user as changed, so a change here needs another FingerprintVersion.
func TestFingerprint_golden(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec      any
		labels    map[string]string
		canonical string
		want      string
	}{
		"empty": {map[string]any{}, nil, `{"labels":{},"spec":{}}`, "v1-df07f794e9051fc4"},
		"map": {
			map[string]any{"user": "root", "cpu": 30.0, "mem": 0.5, "control": map[string]any{"start_cmd": "a && b", "all": []string{"z", "y"}}},
			map[string]string{"team": "sre", "env": "生产"},
			`{"labels":{"env":"生产","team":"sre"},"spec":{"control":{"all":["z","y"],"start_cmd":"a \u0026\u0026 b"},"cpu":30,"mem":0.5,"user":"root"}}`,
			"v1-2c18283abd9ddfd7",
		},
		"struct": {
			struct {
				Z string `json:"z"`
				B *int   `json:"b,omitempty"`
				A int64  `json:"a"`
			}{Z: "last", A: 7},
			map[string]string{},
			`{"labels":{},"spec":{"a":7,"z":"last"}}`,
			"v1-13cfb448e97bc511",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fleet.Fingerprint(test.spec, test.labels)
			fleettest.NoError(t, err)
			fleettest.Same(t, "result", test.want, got)
			sum := sha256.Sum256([]byte(test.canonical))
			documented := fleet.FingerprintVersion + hex.EncodeToString(sum[:])[:16]
			fleettest.Check(t, got == documented, "got %s, which is not that of %s (%s)", got, test.canonical, documented)
		})
	}
}

func TestFingerprint_largeNumbers(t *testing.T) {
	t.Parallel()
	of := func(id int64) string {
		sum, err := fleet.Fingerprint(map[string]any{"report_id": id}, nil)
		fleettest.NoError(t, err)
		return sum
	}
	fleettest.Check(t, of(math.MaxInt64) != of(math.MaxInt64-1), "two large numbers have one fingerprint")
}

func TestFingerprint_labels(t *testing.T) {
	t.Parallel()
	of := func(labels map[string]string) string {
		sum, err := fleet.Fingerprint(map[string]any{"a": 1}, labels)
		fleettest.NoError(t, err)
		return sum
	}
	base := of(map[string]string{"a": "1", "b": "2", "c": "3"})
	for range 20 { // the iteration order of a map is random
		if other := of(map[string]string{"c": "3", "b": "2", "a": "1"}); other != base {
			t.Fatalf("the order of labels matters: %s, %s", base, other)
		}
	}
	for name, labels := range map[string]map[string]string{
		"value": {"a": "1", "b": "2", "c": "4"}, "key": {"a": "1", "b": "2", "d": "3"}, "fewer": {"a": "1", "b": "2"}, "none": nil,
	} {
		fleettest.Check(t, of(labels) != base, "%s: another set of labels has the same fingerprint", name)
	}
	fleettest.Check(t, of(nil) == of(map[string]string{}), "no labels and an empty set of labels differ")
}

func TestFingerprint_refuses(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]any{"not-json": make(chan int), "not-an-object": []int{1}} {
		sum, err := fleet.Fingerprint(spec, nil)
		fleettest.Check(t, err != nil && sum == "", "%s: got %q, %v, want an error alone", name, sum, err)
	}
}

// A row that shows an earlier declaration of the same object is not drift, unless it shows a registration later
// than the last apply's.
func TestInspect_superseded(t *testing.T) {
	t.Parallel()
	want := desired(fleet.EnsureHosted)
	want.Owner, want.Earlier = "O", []string{"v1-before"}
	labels := func(fingerprint, owner string) map[string]string {
		all := map[string]string{want.FingerprintLabel: fingerprint, "tf_spec_owner": owner}
		for key, value := range want.Labels {
			all[key] = value
		}
		return all
	}
	for name, c := range map[string]struct {
		fingerprint, owner   string
		inFile, now, atApply int64
		drift                []fleet.Code
	}{
		"the-agent-keeps-its-time": {"v1-before", "O", 5, 5, 5, nil},
		"by-a-start":               {"v1-before-started", "O", 5, 5, 5, nil},
		"time-at-apply-unknown":    {"v1-before", "O", 5, 5, 0, nil},
		"row-older-than-the-agent": {"v1-before", "O", 5, 9, 9, nil},
		"registered-back-since":    {"v1-before", "O", 12, 12, 9, []fleet.Code{fleet.OtherSpec}},
		"another-owner":            {"v1-before", "X", 5, 5, 5, []fleet.Code{fleet.OtherSpec}},
		"never-ours":               {"v1-strange", "O", 5, 5, 5, []fleet.Code{fleet.OtherSpec}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, agent := row(fleet.Running, true, c.inFile), row(fleet.Running, true, c.now)
			file.Labels = labels(c.fingerprint, c.owner)
			p := &process{cached: answer(file), live: answer(agent)}
			got, err := fleet.Inspect(t.Context(), p, hosts(1), want, nil, nil, map[fleet.Host]int64{host(1): c.atApply})
			fleettest.Check(t, err == nil && slices.Equal(got.Drift[host(1)], c.drift), "drift %q, want %q; error: %v", got.Drift[host(1)], c.drift, err)
		})
	}
}
