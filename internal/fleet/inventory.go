package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Inventory is a set of hosts in which each has the key that its owner gave it.
// Hosts are told apart by address; keys are names for people.
type Inventory struct {
	keys  []string // in the order of CompareKeys
	hosts []Host   // hosts[i] belongs to keys[i]
	index map[HostID]string
}

// AddressError is an entry of a hosts map that cannot stand.
type AddressError struct {
	Key string
	Err error
}

func (e *AddressError) Error() string { return fmt.Sprintf("host %q: %s", e.Key, e.Err) }

func (e *AddressError) Unwrap() error { return e.Err }

// NewInventory parses a map of host key to host address. It reports every entry
// that cannot be parsed and every pair of keys that mean the same host; the
// inventory holds the others.
func NewInventory(addresses map[string]string, supplier int) (Inventory, []*AddressError) {
	var (
		n         = len(addresses)
		inventory = Inventory{keys: make([]string, 0, n), hosts: make([]Host, 0, n), index: make(map[HostID]string, n)}
		faults    []*AddressError
	)
	for _, key := range slices.SortedFunc(maps.Keys(addresses), CompareKeys) {
		host, err := ParseHost(addresses[key], supplier)
		if err != nil {
			faults = append(faults, &AddressError{Key: key, Err: err})
			continue
		}
		if other, taken := inventory.index[host.WithoutSupplier()]; taken {
			faults = append(faults, &AddressError{Key: key, Err: fmt.Errorf(
				"%q is the same host as %q under key %q; name each host once", addresses[key], addresses[other], other)})
			continue
		}
		inventory.keys = append(inventory.keys, key)
		inventory.hosts = append(inventory.hosts, host)
		inventory.index[host.WithoutSupplier()] = key
	}
	return inventory, faults
}

// Len is the number of hosts.
func (r Inventory) Len() int { return len(r.hosts) }

// Hosts are in the order of their keys. The slice is the caller's to change.
func (r Inventory) Hosts() []Host { return slices.Clone(r.hosts) }

// Key is the key of a host, or its address where the inventory does not hold it.
func (r Inventory) Key(host Host) string {
	if key, ok := r.index[host.WithoutSupplier()]; ok {
		return key
	}
	return host.Address()
}

// Has reports whether the inventory holds the host under any key.
func (r Inventory) Has(host Host) bool {
	_, ok := r.index[host.WithoutSupplier()]
	return ok
}

// KeyOf is the key of the host with this id, false where the inventory does not hold it.
func (r Inventory) KeyOf(id HostID) (string, bool) {
	key, ok := r.index[id]
	return key, ok
}

// HostOf is the host with this key, false where there is none.
func (r Inventory) HostOf(key string) (Host, bool) {
	i, found := slices.BinarySearchFunc(r.keys, key, CompareKeys)
	if !found {
		return Host{}, false
	}
	return r.hosts[i], true
}

// Mixed reports whether some hosts are named by agent id and others by address.
func (r Inventory) Mixed() bool {
	byID := len(r.Pick(func(h Host) bool { return h.AgentID() != "" }))
	return byID > 0 && byID < r.Len()
}

// SupplierOf is the supplier id that the inventory has for a host that it holds.
func (r Inventory) SupplierOf(host Host) int {
	i, _ := slices.BinarySearchFunc(r.keys, r.index[host.WithoutSupplier()], CompareKeys)
	return r.hosts[i].supplier
}

// Keeping is r with the supplier ids that other has for the hosts that it holds too.
func (r Inventory) Keeping(other Inventory) Inventory {
	r.hosts = slices.Clone(r.hosts)
	for i, host := range r.hosts {
		if other.Has(host) {
			r.hosts[i] = host.Supplied(other.SupplierOf(host))
		}
	}
	return r
}

// WithSuppliers is r with the supplier ids of hosts by address.
func (r Inventory) WithSuppliers(ids map[string]int) Inventory {
	r.hosts = slices.Clone(r.hosts)
	for i, host := range r.hosts {
		if id, known := ids[host.Address()]; known {
			r.hosts[i] = host.Supplied(id)
		}
	}
	return r
}

// Without are the hosts of r that other does not hold, in the order of their keys.
func (r Inventory) Without(other Inventory) []Host {
	return r.Pick(func(h Host) bool { return !other.Has(h) })
}

// Pick are the hosts for which keep is true, in the order of their keys.
func (r Inventory) Pick(keep func(Host) bool) []Host {
	var picked []Host
	for _, h := range r.hosts {
		if keep(h) {
			picked = append(picked, h)
		}
	}
	return picked
}

// All yields key and host in the order of the keys.
func (r Inventory) All(yield func(string, Host) bool) {
	for i, key := range r.keys {
		if !yield(key, r.hosts[i]) {
			return
		}
	}
}

// String lists the keys, for logs.
func (r Inventory) String() string { return strings.Join(r.keys, ", ") }
