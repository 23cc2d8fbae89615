package fleet_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

func TestParseHost(t *testing.T) {
	t.Parallel()
	agent := strings.Repeat("02", 16)
	for name, test := range map[string]struct {
		address  string
		supplier int
		full     string // String
		short    string // Address
	}{
		"cloud-ip":                 {"0:10.0.0.1", 0, "0:0:10.0.0.1", "0:10.0.0.1"},
		"default-supplier":         {"3:10.0.0.1", 7, "3:7:10.0.0.1", "3:10.0.0.1"},
		"own-supplier":             {"1:2:10.0.0.1", 7, "1:2:10.0.0.1", "1:10.0.0.1"},
		"own-supplier-zero":        {"1:0:10.0.0.1", 7, "1:0:10.0.0.1", "1:10.0.0.1"},
		"large-cloud":              {"2000001:10.0.0.1", 0, "2000001:0:10.0.0.1", "2000001:10.0.0.1"},
		"ipv6":                     {"0:2001:db8::1", 0, "0:0:[2001:db8::1]", "0:2001:db8::1"},
		"ipv6-long":                {"0:2001:0DB8:0:0:0:0:0:1", 0, "0:0:[2001:db8::1]", "0:2001:db8::1"},
		"ipv6-supplier":            {"0:5:[2001:db8::1]", 0, "0:5:[2001:db8::1]", "0:2001:db8::1"},
		"ipv6-leading-colons":      {"0:::1", 0, "0:0:[::1]", "0:::1"},
		"ipv6-unspecified":         {"0:::", 0, "0:0:[::]", "0:::"},
		"ipv6-cloud-2001":          {"2001:2001:db8::1", 0, "2001:0:[2001:db8::1]", "2001:2001:db8::1"},
		"ipv6-not-in-use":          {"2001:0:[db8::1]", 0, "2001:0:[db8::1]", "2001:0:[db8::1]"},
		"ipv6-looks-like-supplier": {"1:2:3::4", 9, "1:9:[2:3::4]", "1:2:3::4"},
		"ipv4-mapped":              {"0:::ffff:10.0.0.1", 0, "0:0:10.0.0.1", "0:10.0.0.1"},
		"ipv4-mapped-brackets":     {"0:4:[::ffff:10.0.0.1]", 0, "0:4:10.0.0.1", "0:10.0.0.1"},
		"agent-id-32":              {agent, 3, agent, agent},
		"agent-id-36":              {agent + "abcd", 0, agent + "abcd", agent + "abcd"},
		"agent-id-64":              {agent + agent, 0, agent + agent, agent + agent},
		"agent-id-16":              {agent[:16], 0, agent[:16], agent[:16]},
		"agent-id-capitals":        {agent + "ABCD", 0, agent + "ABCD", agent + "ABCD"},
		"agent-id-not-hex":         {agent + "390u", 0, agent + "390u", agent + "390u"},
		"agent-id-any-sign":        {"agent/é,@[%s]-0001", 0, "agent/é,@[%s]-0001", "agent/é,@[%s]-0001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, err := fleet.ParseHost(test.address, test.supplier)
			fleettest.NoError(t, err)
			fleettest.Same(t, "String", test.full, host.String())
			fleettest.Same(t, "Address", test.short, host.Address())
			if again, err := fleet.ParseHost(host.String(), test.supplier+1); err != nil || again != host {
				t.Errorf("parsing String again: got %v, %v", again, err)
			}
			if again, err := fleet.ParseHost(host.Address(), test.supplier); err != nil || again.WithoutSupplier() != host.WithoutSupplier() {
				t.Errorf("parsing Address again: got %v, %v, want the same host", again, err)
			}
		})
	}
}

func TestParseHost_refuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ address, says string }{
		"empty":                   {"", "it is empty"},
		"no-cloud":                {"10.0.0.1", `no bk_cloud_id; did you mean "0:10.0.0.1"?`},
		"no-cloud-ipv6":           {"2001:db8::1", `did you mean "0:2001:db8::1"?`},
		"no-cloud-ipv6-brackets":  {"[2001:db8::1]", `did you mean "0:2001:db8::1"?`},
		"no-cloud-ipv6-private":   {"fd00::1", `did you mean "0:fd00::1"?`},
		"brackets-no-supplier":    {"3:[2001:db8::1]", `did you mean "3:2001:db8::1"?`},
		"supplier-no-brackets":    {"0:5:2001:db8::1", `did you mean "0:5:[2001:db8::1]"?`},
		"host-name":               {"web-1.example.com", "is a host name"},
		"short-host-name":         {"web-1", "neither an IP address nor an agent id"},
		"agent-id-too-short":      {strings.Repeat("a", 15), "no bk_cloud_id"},
		"agent-id-too-long":       {strings.Repeat("a", 65), "no bk_cloud_id"},
		"agent-id-and-space":      {strings.Repeat("a", 32) + " ", "has a space in it; did you mean \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"?"},
		"agent-id-and-wide-space": {strings.Repeat("a", 32) + "\u00a0", "has a space in it; did you mean"},
		"agent-id-and-escape":     {strings.Repeat("a", 32) + "\x1b", "no bk_cloud_id"},
		"agent-id-and-c1":         {strings.Repeat("a", 32) + "\u009b", "no bk_cloud_id"},
		"agent-id-not-text":       {strings.Repeat("a", 32) + "\xff", "no bk_cloud_id"},
		"agent-id-and-newline":    {strings.Repeat("a", 32) + "\n", "has a space in it; did you mean"},
		"cloud-empty":             {":10.0.0.1", "bk_cloud_id"},
		"cloud-negative":          {"-1:10.0.0.1", "bk_cloud_id"},
		"cloud-plus":              {"+1:10.0.0.1", "bk_cloud_id"},
		"cloud-leading-zero":      {"01:10.0.0.1", "bk_cloud_id"},
		"cloud-word":              {"default:10.0.0.1", "bk_cloud_id"},
		"cloud-too-large":         {"99999999999999999999:10.0.0.1", "bk_cloud_id"},
		"cloud-space":             {" 0:10.0.0.1", `" 0:10.0.0.1" has a space in it; did you mean "0:10.0.0.1"?`},
		"cloud-digits-elsewhere":  {"٣:10.0.0.1", "bk_cloud_id"},
		"supplier-negative":       {"0:-1:10.0.0.1", "bk_supplier_id"},
		"supplier-leading-zero":   {"0:00:10.0.0.1", "bk_supplier_id"},
		"supplier-empty":          {"0::10.0.0.1", "bk_supplier_id"},
		"supplier-empty-brackets": {"0::[2001:db8::1]", "bk_supplier_id"},
		"ip-missing":              {"0:", "not an IP address"},
		"ip-missing-supplier":     {"0:0:", "not an IP address"},
		"ip-short":                {"0:10.0.0", "not an IP address"},
		"ip-too-large":            {"0:10.0.0.256", `"10.0.0.256" is not an IP address; an address is`},
		"wide-colon":              {"0：10.0.0.3", `has full-width characters; did you mean "0:10.0.0.3"?`},
		"wide-colons":             {"10：0：10.100.100.103", `has full-width characters; did you mean "10:0:10.100.100.103"?`},
		"wide-figures":            {"０:10。0。0．3", `has full-width characters; did you mean "0:10.0.0.3"?`},
		"wide-name":               {"0：web-3", "no bk_cloud_id"},
		"ip-leading-zero":         {"0:10.0.0.01", "not an IP address"},
		"ip-space":                {"0:10.0.0.1 ", `"0:10.0.0.1 " has a space in it; did you mean "0:10.0.0.1"?`},
		"space-between":           {"0: 10.0.0.1", `did you mean "0:10.0.0.1"?`},
		"two-addresses":           {"0:10.0.0.1 0:10.0.0.2", "has a space in it; an address is"},
		"nothing-but-a-space":     {" ", "has a space in it; an address is"},
		"ip-port":                 {"0:0:10.0.0.1:80", `has a port, and a host is known without one; did you mean "0:0:10.0.0.1"?`},
		"ip-name":                 {"0:web-1", "not an IP address, and hosts are known by their IP rather than by a name"},
		"ip-prefix":               {"0:10.0.0.0/8", "not an IP address"},
		"ipv6-two-gaps":           {"0:2001::db8::1", "not an IP address"},
		"brackets-open":           {"0:0:[2001:db8::1", "not an IP address"},
		"brackets-empty":          {"0:0:[]", "not an IP address"},
		"zone":                    {"0:fe80::1%eth0", "leave out %eth0"},
		"zone-brackets":           {"0:0:[fe80::1%eth0]", "leave out %eth0"},
	} {
		if host, err := fleet.ParseHost(test.address, 0); err == nil || host != (fleet.Host{}) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v, %v, want an error alone that says %q", name, host, err, test.says)
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, address := range []string{
		"0:10.0.0.1", "1:2:10.0.0.1", "0:2001:db8::1", "0:0:[2001:db8::1]", "1:2:3::4", "0:::ffff:10.0.0.1",
		strings.Repeat("0a", 18), strings.Repeat("0A", 18), "0200000007525400f355781710390005465u", "agent-of-16-char", "0:fe80::1%eth0", "0:0:[10.0.0.1]", "-1:10.0.0.1", "0::", "[:]", "",
	} {
		f.Add(address, 0)
	}
	f.Fuzz(func(t *testing.T, address string, supplier int) {
		host, err := fleet.ParseHost(address, max(supplier, 0))
		if err != nil {
			return
		}
		again, err := fleet.ParseHost(host.String(), 0)
		fleettest.Check(t, err == nil && again == host, "%q became %q, which became %q, %v", address, host, again, err)
		if short, err := fleet.ParseHost(host.Address(), 0); err != nil || short.WithoutSupplier() != host.WithoutSupplier() {
			t.Errorf("%q has the address %q, which is at %v, %v", address, host.Address(), short, err)
		}
	})
}

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

// span are keys that differ in one number, from first to last.
func span(format string, first, last int) []string {
	var keys []string
	for n := first; n <= last; n++ {
		keys = append(keys, fmt.Sprintf(format, n))
	}
	return keys
}

func TestRanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys []string
		want []string
	}{
		"none":                    {nil, nil},
		"one":                     {[]string{"web"}, []string{"web"}},
		"two-are-named":           {span("web-%d", 9, 10), []string{"web-9", "web-10"}},
		"padded":                  {span("web-%03d", 21, 50), []string{"web-021…web-050"}},
		"across-digits":           {span("web-%d", 8, 101), []string{"web-8…web-101"}},
		"a-gap":                   {append(span("w%d", 1, 3), span("w%d", 5, 9)...), []string{"w1…w3", "w5…w9"}},
		"order-is-natural":        {[]string{"w10", "w9", "w2", "db"}, []string{"db", "w2", "w9", "w10"}},
		"number-in-the-middle":    {span("web-%02d.gz.example", 1, 4), []string{"web-01.gz.example…web-04.gz.example"}},
		"addresses":               {span("0:10.0.0.%d", 254, 256), []string{"0:10.0.0.254…0:10.0.0.256"}},
		"one-place-at-a-time":     {[]string{"a1b1", "a1b2", "a2b2", "a3b2"}, []string{"a1b1", "a1b2", "a2b2", "a3b2"}},
		"padding-is-part-of-it":   {[]string{"w1", "w02", "w3", "w4", "w5"}, []string{"w1", "w02", "w3…w5"}},
		"longer-than-any-number":  {[]string{"a" + strings.Repeat("9", 30), "a1"}, []string{"a1", "a" + strings.Repeat("9", 30)}},
		"text-beside-numbers":     {append(span("w%d", 1, 3), "w", "w-a", "wx"), []string{"w", "w1…w3", "w-a", "wx"}},
		"the-same-but-for-zeros":  {[]string{"w2", "w02", "w002"}, []string{"w002", "w02", "w2"}},
		"text-behind-differs":     {[]string{"w1a", "w2b", "w3c"}, []string{"w1a", "w2b", "w3c"}},
		"no-number-where-it-ends": {[]string{"web-", "web-1"}, []string{"web-", "web-1"}},
	} {
		fleettest.Same(t, name, c.want, fleet.Ranges(c.keys))
	}
}

// The natural order is consistent for any keys, and ranges end only at given keys.
func FuzzRanges(f *testing.F) {
	f.Add("web-9", "web-10", "web-011")
	f.Add("a1b1", "a1b2", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		keys := []string{a, b, c}
		for _, x := range keys {
			for _, y := range keys {
				if there, back := fleet.CompareKeys(x, y), fleet.CompareKeys(y, x); there != -back || (there == 0) != (x == y) {
					t.Errorf("%q against %q is %d, and %d the other way round", x, y, there, back)
				}
			}
		}
		sorted := slices.SortedFunc(slices.Values(keys), fleet.CompareKeys)
		slices.Reverse(keys)
		again := slices.SortedFunc(slices.Values(keys), fleet.CompareKeys)
		fleettest.Check(t, slices.Equal(sorted, again), "%q, and from the other end %q", sorted, again)
		for _, r := range fleet.Ranges(keys) {
			if first, last, _ := strings.Cut(r, "…"); !slices.Contains(keys, r) && (!slices.Contains(keys, first) || !slices.Contains(keys, last)) {
				t.Errorf("%q of %q", r, keys)
			}
		}
	})
}
