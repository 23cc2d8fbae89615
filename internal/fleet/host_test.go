package fleet_test

import (
	"maps"
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
				t.Errorf("String does not lead back: got %v, %v", again, err)
			}
			if again, err := fleet.ParseHost(host.Address(), test.supplier); err != nil || again.WithoutSupplier() != host.WithoutSupplier() {
				t.Errorf("Address does not lead back to the same host: got %v, %v", again, err)
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
		"ip-too-large":            {"0:10.0.0.256", "not an IP address"},
		"ip-leading-zero":         {"0:10.0.0.01", "not an IP address"},
		"ip-space":                {"0:10.0.0.1 ", `"0:10.0.0.1 " has a space in it; did you mean "0:10.0.0.1"?`},
		"space-between":           {"0: 10.0.0.1", `did you mean "0:10.0.0.1"?`},
		"two-addresses":           {"0:10.0.0.1 0:10.0.0.2", "has a space in it; an address is"},
		"nothing-but-a-space":     {" ", "has a space in it; an address is"},
		"ip-port":                 {"0:0:10.0.0.1:80", `has a port, and a host is known without one; did you mean "0:0:10.0.0.1"?`},
		"ip-name":                 {"0:web-1", "not an IP address"},
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

func TestSpans(t *testing.T) {
	t.Parallel()
	agent := strings.Repeat("0a", 8)
	for name, test := range map[string]struct{ addresses, spans []string }{
		"none":        {nil, nil},
		"one":         {[]string{"0:10.0.0.1"}, []string{"0:10.0.0.1"}},
		"in-a-row":    {[]string{"0:10.0.1.0", "0:10.0.0.254", "0:10.0.0.255"}, []string{"0:10.0.0.254+2"}},
		"gaps":        {[]string{"0:10.0.0.1", "0:10.0.0.3", "0:10.0.0.4"}, []string{"0:10.0.0.1", "0:10.0.0.3+1"}},
		"clouds":      {[]string{"1:10.0.0.2", "0:10.0.0.1"}, []string{"0:10.0.0.1", "1:10.0.0.2"}},
		"twice":       {[]string{"0:10.0.0.1", "0:5:10.0.0.1"}, []string{"0:10.0.0.1"}},
		"the-end":     {[]string{"0:255.255.255.254", "0:255.255.255.255", agent}, []string{"0:255.255.255.254+1", agent}},
		"ipv6":        {[]string{"0:2001:db8::1", "0:2001:db8::2", "0:10.0.0.1"}, []string{"0:10.0.0.1", "0:2001:db8::1+1"}},
		"an-agent+id": {[]string{"an-agent-with+22", agent}, []string{agent, "an-agent-with+22"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, got := map[fleet.HostID]bool{}, map[fleet.HostID]bool{}
			for _, address := range test.addresses {
				host, err := fleet.ParseHost(address, 0)
				fleettest.NoError(t, err)
				want[host.WithoutSupplier()] = true
			}
			spans := fleet.Spans(slices.Collect(maps.Keys(want)))
			fleettest.Check(t, slices.Equal(spans, test.spans), "got %q, want %q", spans, test.spans)
			for _, span := range spans {
				ids, err := fleet.ParseSpan(span)
				fleettest.Check(t, err == nil, "%s", err)
				for _, id := range ids {
					got[id] = true
				}
			}
			fleettest.Check(t, maps.Equal(got, want), "read back: %v, want %v", got, want)
		})
	}
	for _, odd := range []string{"", "0:10.0.0.1+", "0:10.0.0.1+-1", "0:10.0.0.1+99999999999", "0:255.255.255.255+1", "10.0.0.1+1", "0:10.0.0.1+1+1"} {
		if ids, err := fleet.ParseSpan(odd); err == nil {
			t.Errorf("%q was read as %v", odd, ids)
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
