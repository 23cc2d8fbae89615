package fleet_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// inventory is one without faults.
func inventory(t *testing.T, addresses map[string]string) fleet.Inventory {
	t.Helper()
	r, faults := fleet.NewInventory(maps.All(addresses), 0)
	for _, fault := range faults {
		t.Fatal(fault)
	}
	return r
}

// Waves take hosts in this order, which is the one in which messages name them.
//
// Promised in how-it-works.md: Hosts go in natural order of their keys, `web-9` before `web-10`.
func TestInventory_naturalOrder(t *testing.T) {
	t.Parallel()
	r := inventory(t, map[string]string{"web-10": "0:10.0.0.1", "web-9": "0:10.0.0.2", "db-2": "0:10.0.0.3", "web-09": "0:1:10.0.0.4", "web-100": "0:10.0.0.5"})
	var keys []string
	for key, host := range r.All {
		keys = append(keys, key)
		if found, ok := r.HostOf(key); !ok || found != host {
			t.Errorf("%s is %v", key, found)
		}
	}
	if want := []string{"db-2", "web-09", "web-9", "web-10", "web-100"}; !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
	if host, _ := r.HostOf("web-09"); r.SupplierOf(host) != 1 {
		t.Errorf("the supplier of web-09 is %d", r.SupplierOf(host))
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
			[]string{
				same("b", "0:0:10.0.0.1", "0:10.0.0.1"),
				same("c", "0:::ffff:10.0.0.1", "0:10.0.0.1"),
			},
			[]string{"a"},
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
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.holds, holds); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if inventory.Len() != len(test.holds) {
				t.Errorf("Len: got %d, want %d", inventory.Len(), len(test.holds))
			}
		})
	}
}

func TestInventory_order(t *testing.T) {
	t.Parallel()
	r := inventory(t, map[string]string{"c": "0:10.0.0.1", "a": "0:10.0.0.3", "b": "0:10.0.0.2"})
	want := hosts(3, 2, 1)
	if diff := cmp.Diff(want, r.Hosts(), byString); diff != "" {
		t.Errorf("Hosts (-want +got):\n%s", diff)
	}
	if got := r.String(); got != "a, b, c" {
		t.Errorf("String: got %q", got)
	}
	odd := r.Pick(func(h fleet.Host) bool { return number(h) != 2 })
	if diff := cmp.Diff(hosts(3, 1), odd, byString); diff != "" {
		t.Errorf("Pick (-want +got):\n%s", diff)
	}
	for key, h := range r.All {
		if key != "a" || h != host(3) {
			t.Errorf("All begins with %s, %v", key, h)
		}
		break
	}
	slices.Reverse(r.Hosts())
	if diff := cmp.Diff(want, r.Hosts(), byString); diff != "" {
		t.Errorf("the caller changed the inventory (-want +got):\n%s", diff)
	}
}

// A supplier id makes no other host: the inventory is asked with one and holds another.
func TestInventory_suppliers(t *testing.T) {
	t.Parallel()
	r := inventory(t, map[string]string{"a": "0:3:10.0.0.2", "b": "0:10.0.0.3", "c": "0:5:10.0.0.1"})
	for n, want := range map[int]struct {
		key      string
		supplier int
	}{1: {"c", 5}, 2: {"a", 3}, 3: {"b", 0}} {
		for _, supplier := range []int{0, 5, 9} {
			h := fleet.NewHost(0, supplier, host(n).IP())
			if !r.Has(h) {
				t.Errorf("Has: want %s", h)
			}
			if got := r.Key(h); got != want.key {
				t.Errorf("Key of %s: got %q, want %q", h, got, want.key)
			}
			if got := r.SupplierOf(h); got != want.supplier {
				t.Errorf("SupplierOf %s: got %d, want %d", h, got, want.supplier)
			}
		}
	}
	if other := fleet.NewHost(1, 5, host(1).IP()); r.Has(other) || r.Key(other) != "1:10.0.0.1" {
		t.Errorf("%s is on another cloud, and the inventory should not hold it", other)
	}
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
			if diff := cmp.Diff(test.gone, old.Without(fresh), byString); diff != "" {
				t.Errorf("gone (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.arrived, fresh.Without(old), byString); diff != "" {
				t.Errorf("arrived (-want +got):\n%s", diff)
			}
		})
	}
}

// byString shows hosts in a diff as people write them.
var byString = cmp.Transformer("String", fleet.Host.String)
