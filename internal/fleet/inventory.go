package fleet

import (
	"fmt"
	"iter"
	"slices"
)

// Inventory is a set of hosts with the user's keys. Addresses identify hosts. Keys are names for people.
type Inventory struct {
	keys  []string       // in the order of CompareKeys
	hosts []Host         // hosts[i] belongs to keys[i]
	index map[HostID]int // of keys and hosts
}

// AddressError is an error in an entry of a hosts map.
type AddressError struct {
	Key string
	Err error
}

func (e *AddressError) Error() string { return fmt.Sprintf("host %q: %s", e.Key, e.Err) }

// NewInventory parses addresses by key, in any order. It returns an error for every entry that cannot be
// parsed and for every pair of keys with the same host. The inventory holds the others.
func NewInventory(addresses iter.Seq2[string, string], supplier int) (Inventory, []*AddressError) {
	type entry struct{ key, address string }
	var (
		entries []entry
		byKey   = func(a, b entry) int { return CompareKeys(a.key, b.key) }
		faults  []*AddressError
	)
	for key, address := range addresses {
		entries = append(entries, entry{key, address})
	}
	if !slices.IsSortedFunc(entries, byKey) { // Terraform's order is often the same
		slices.SortFunc(entries, byKey)
	}
	n := len(entries)
	inventory := Inventory{keys: make([]string, 0, n), hosts: make([]Host, 0, n), index: make(map[HostID]int, n)}
	for _, e := range entries {
		host, err := ParseHost(e.address, supplier)
		if err != nil {
			faults = append(faults, &AddressError{Key: e.key, Err: err})
			continue
		}
		if other, taken := inventory.index[host.WithoutSupplier()]; taken {
			i, _ := slices.BinarySearchFunc(entries, entry{key: inventory.keys[other]}, byKey)
			faults = append(faults, &AddressError{Key: e.key, Err: fmt.Errorf(
				"%q is the same host as %q under key %q; name each host once", e.address, entries[i].address, entries[i].key)})
			continue
		}
		inventory.index[host.WithoutSupplier()] = len(inventory.keys)
		inventory.keys = append(inventory.keys, e.key)
		inventory.hosts = append(inventory.hosts, host)
	}
	return inventory, faults
}

// Len returns the number of hosts.
func (r Inventory) Len() int { return len(r.hosts) }

// Hosts returns the hosts in the order of their keys. The caller may change the slice.
func (r Inventory) Hosts() []Host { return slices.Clone(r.hosts) }

// Key returns the key of a host, or its address if the inventory does not hold it.
func (r Inventory) Key(host Host) string {
	if i, ok := r.index[host.WithoutSupplier()]; ok {
		return r.keys[i]
	}
	return host.Address()
}

// Has reports whether the inventory holds the host, under any key.
func (r Inventory) Has(host Host) bool {
	_, ok := r.index[host.WithoutSupplier()]
	return ok
}

// HostOf returns the host with this key, and whether there is one.
func (r Inventory) HostOf(key string) (Host, bool) {
	i, found := slices.BinarySearchFunc(r.keys, key, CompareKeys)
	if !found {
		return Host{}, false
	}
	return r.hosts[i], true
}

// Find returns the host with this id, with its supplier id here, and whether the inventory holds it.
func (r Inventory) Find(id HostID) (Host, bool) {
	i, found := r.index[id]
	if !found {
		return Host{}, false
	}
	return r.hosts[i], true
}

// Without returns the hosts of r that other does not hold, in the order of their keys.
func (r Inventory) Without(other Inventory) []Host {
	return r.Pick(func(h Host) bool { return !other.Has(h) })
}

// Pick returns the hosts for which keep is true, in the order of their keys.
func (r Inventory) Pick(keep func(Host) bool) []Host {
	return Where(r.hosts, keep)
}

// All yields keys and hosts in the order of the keys.
func (r Inventory) All(yield func(string, Host) bool) {
	for i, key := range r.keys {
		if !yield(key, r.hosts[i]) {
			return
		}
	}
}

// Where returns those of hosts for which keep is true, in their order.
func Where(hosts []Host, keep func(Host) bool) []Host {
	var kept []Host
	for _, h := range hosts {
		if keep(h) {
			kept = append(kept, h)
		}
	}
	return kept
}

// In returns those of hosts that are in set, in their order.
func In(hosts []Host, set map[Host]bool) []Host {
	return Where(hosts, func(h Host) bool { return set[h] })
}

// SetOf returns a set of the hosts.
func SetOf(hosts []Host) map[Host]bool {
	set := make(map[Host]bool, len(hosts))
	for _, h := range hosts {
		set[h] = true
	}
	return set
}

// OtherForm returns those of hosts that are named in another form than some of others. Only an address and an agent
// id can name the same machine.
func OtherForm(hosts, others []Host) []Host {
	byID := func(h Host) bool { return h.id.IsAgentID() }
	ids := slices.ContainsFunc(others, byID)
	addresses := slices.ContainsFunc(others, func(h Host) bool { return !byID(h) })
	return Where(hosts, func(h Host) bool { return byID(h) && addresses || !byID(h) && ids })
}
