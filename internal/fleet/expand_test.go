package fleet_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

func TestExpandIPs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pattern string
		want    string // addresses, or with err a part of the message
		err     bool
	}{
		"plain":             {pattern: "10.0.0.1", want: "10.0.0.1"},
		"span":              {pattern: "10.0.0.[8-11]", want: "10.0.0.8 10.0.0.9 10.0.0.10 10.0.0.11"},
		"span-of-one":       {pattern: "10.0.0.[8-8]", want: "10.0.0.8"},
		"list":              {pattern: "10.0.0.[7,1,3-4]", want: "10.0.0.7 10.0.0.1 10.0.0.3 10.0.0.4"},
		"two-brackets":      {pattern: "10.0.[1-2].[8,9]", want: "10.0.1.8 10.0.1.9 10.0.2.8 10.0.2.9"},
		"part-of-a-number":  {pattern: "10.0.0.1[0-2]", want: "10.0.0.10 10.0.0.11 10.0.0.12"},
		"bracket-in-front":  {pattern: "[10,11].0.0.1", want: "10.0.0.1 11.0.0.1"},
		"empty":             {pattern: "", err: true, want: `it names "", which is not an IPv4 address`},
		"empty-bracket":     {pattern: "10.0.0.[]", err: true, want: `"" is not a number from 0 to 255`},
		"open":              {pattern: "10.0.0.[1-20", err: true, want: "a [ without its ]"},
		"not-opened":        {pattern: "10.0.0.1-20]", err: true, want: "a ] without its ["},
		"nested":            {pattern: "10.0.0.[1-[2]]", err: true, want: "a [ without its ]"},
		"backwards":         {pattern: "10.0.0.[20-1]", err: true, want: `"20-1" counts backwards`},
		"too-large":         {pattern: "10.0.0.[1-256]", err: true, want: `"256" is not a number from 0 to 255`},
		"too-large-by-text": {pattern: "10.0.0.25[0-9]", err: true, want: `it names "10.0.0.256", which is not an IPv4 address`},
		"zero-padded":       {pattern: "10.0.0.[01-09]", err: true, want: `"01" is not a number from 0 to 255`},
		"white-space":       {pattern: "10.0.0.[1, 2]", err: true, want: `" 2" is not a number from 0 to 255`},
		"twice":             {pattern: "10.0.0.[1-3,2]", err: true, want: "[1-3,2] names 2 twice"},
		"open-end":          {pattern: "10.0.0.[1-]", err: true, want: `"" is not a number from 0 to 255`},
		"signs":             {pattern: "10.0.0.[+1]", err: true, want: `"+1" is not a number from 0 to 255`},
		"three-parts":       {pattern: "10.0.[1-2]", err: true, want: `it names "10.0.1", which is not an IPv4 address`},
		"ipv6":              {pattern: "2001:db8::[1-2]", err: true, want: "which is not an IPv4 address"},
		"no-brackets":       {pattern: "10.0.0.1-20", err: true, want: `it names "10.0.0.1-20", which is not an IPv4 address`},
		"with-cloud":        {pattern: "0:10.0.0.[1-2]", err: true, want: "which is not an IPv4 address"},
		"one-too-many":      {pattern: "10.[0-1].[0-255].[0-255]", err: true, want: "more than 65536 addresses; split it"},
		"far-too-many":      {pattern: strings.Repeat("[0-255]", 40), err: true, want: "more than 65536 addresses; split it"},
	} {
		ips, err := fleet.ExpandIPs(c.pattern)
		got := strings.Trim(fmt.Sprint(ips), "[]")
		if c.err && (err == nil || !strings.Contains(err.Error(), c.want)) || !c.err && (err != nil || got != c.want) {
			t.Errorf("%s: got %s and error %v, want %q", name, got, err, c.want)
		}
	}
}

func TestExpandIPs_most(t *testing.T) {
	t.Parallel()
	ips, err := fleet.ExpandIPs("10.0.[0-255].[0-255]")
	fleettest.NoError(t, err)
	if len(ips) != fleet.MaxExpanded || ips[fleet.MaxExpanded-1].String() != "10.0.255.255" {
		t.Errorf("got %d addresses, the last %s", len(ips), ips[len(ips)-1])
	}
}

func FuzzExpandIPs(f *testing.F) {
	for _, pattern := range []string{"10.0.0.[1-20]", "10.0.[0-3].[1,5,7-9]", "10.0.0.1[0-2]", "[10,11].0.0.1", "[", "]", "10.0.0.[[1]]", "10.[0-255].[0-255].1", "2001:db8::[1-2]", ""} {
		f.Add(pattern)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		ips, err := fleet.ExpandIPs(pattern)
		fleettest.Check(t, (err == nil) == (len(ips) > 0) && len(ips) <= fleet.MaxExpanded, "%q: %d addresses, %v", pattern, len(ips), err)
		seen := make(map[netip.Addr]bool, len(ips))
		for _, ip := range ips {
			fleettest.Check(t, ip.Is4() && !seen[ip], "%q names %s, which is no IPv4 address or was named before", pattern, ip)
			seen[ip] = true
		}
	})
}
