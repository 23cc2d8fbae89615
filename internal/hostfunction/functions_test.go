package hostfunction_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// No provider block is evaluated here: functions need none.
//
// Promised in reference: An address that appears twice is an error.
// Promised in limits.md: | Hosts that the function `expand` returns | 65,536 |.
// Promised in limits.md: | Hosts that the function `waves` counts | 100,000 |.
func TestFunctions(t *testing.T) {
	t.Parallel()
	agent := strings.Repeat("0a", 16)
	type object = map[string]any
	for name, c := range map[string]struct {
		function  string
		arguments []any
		want      any
		fault     string
	}{
		"host":           {"host", []any{"10.0.0.1", 0}, "0:10.0.0.1", ""},
		"host-cloud":     {"host", []any{"10.0.0.1", 12}, "12:10.0.0.1", ""},
		"host-ipv6":      {"host", []any{"2001:DB8:0::1", 0}, "0:2001:db8::1", ""},
		"host-mapped":    {"host", []any{"::ffff:10.0.0.1", 0}, "0:10.0.0.1", ""},
		"host-no-ip":     {"host", []any{"0:10.0.0.1", 0}, nil, `"0:10.0.0.1" is not an IP address`},
		"host-zone":      {"host", []any{"fe80::1%eth0", 0}, nil, `"fe80::1%eth0" has a zone, which has no meaning on another machine`},
		"host-bad-cloud": {"host", []any{"10.0.0.1", -1}, nil, "bk_cloud_id must be at least 0; got -1"},

		"host-fraction": {"host", []any{"10.0.0.1", 1.5}, nil, "bk_cloud_id must be a whole number, such as 2; got 1.5"},

		"hosts-fraction":  {"hosts", []any{[]string{"10.0.0.1"}, 0.5}, nil, "bk_cloud_id must be a whole number, such as 2; got 0.5"},
		"hosts-huge":      {"hosts", []any{[]string{"10.0.0.1"}, 1e20}, nil, "bk_cloud_id must be a whole number, such as 2; got 1e+20"},
		"hosts":           {"hosts", []any{[]string{"10.0.0.2", "10.0.0.1"}, 3}, object{"10.0.0.1": "3:10.0.0.1", "10.0.0.2": "3:10.0.0.2"}, ""},
		"hosts-ipv6":      {"hosts", []any{[]string{"2001:db8:0::1"}, 0}, object{"2001:db8::1": "0:2001:db8::1"}, ""},
		"hosts-none":      {"hosts", []any{[]string{}, 0}, object{}, ""},
		"hosts-twice":     {"hosts", []any{[]string{"10.0.0.1", "::ffff:10.0.0.1"}, 0}, nil, "Element 1: 10.0.0.1 appears more than once"},
		"hosts-no-ip":     {"hosts", []any{[]string{"10.0.0.1", "web-2"}, 0}, nil, `Element 1: "web-2" is not an IP address`},
		"hosts-bad-cloud": {"hosts", []any{[]string{"10.0.0.1"}, -1}, nil, "bk_cloud_id must be at least 0; got -1"},

		"parse-short":    {"parse_host", []any{"3:10.0.0.1"}, object{"ip": "10.0.0.1", "bk_cloud_id": 3, "bk_supplier_id": nil, "agent_id": nil}, ""},
		"parse-full":     {"parse_host", []any{"3:0:10.0.0.1"}, object{"ip": "10.0.0.1", "bk_cloud_id": 3, "bk_supplier_id": 0, "agent_id": nil}, ""},
		"parse-ipv6":     {"parse_host", []any{"0:2:[2001:db8::1]"}, object{"ip": "2001:db8::1", "bk_cloud_id": 0, "bk_supplier_id": 2, "agent_id": nil}, ""},
		"parse-agent-id": {"parse_host", []any{agent}, object{"ip": nil, "bk_cloud_id": nil, "bk_supplier_id": nil, "agent_id": agent}, ""},
		"parse-nonsense": {"parse_host", []any{"web-1"}, nil, `Not a host address: "web-1" has no bk_cloud_id, and is neither an IP address nor an agent id; ` + fleet.AddressForms},
		"parse-negative": {"parse_host", []any{"0:-1:10.0.0.1"}, nil, `Not a host address: "0:-1:10.0.0.1": bk_supplier_id "-1" is not a whole number from 0; ` + fleet.AddressForms},

		"expand":          {"expand", []any{"10.0.0.[9-11]"}, []any{"10.0.0.9", "10.0.0.10", "10.0.0.11"}, ""},
		"expand-one":      {"expand", []any{"10.0.0.1"}, []any{"10.0.0.1"}, ""},
		"expand-too-many": {"expand", []any{"10.[0-1].[0-255].[0-255]"}, nil, `"10.[0-1].[0-255].[0-255]" stands for more than 65536 addresses; split it`},
		"expand-open":     {"expand", []any{"10.0.0.[1-20"}, nil, `"10.0.0.[1-20" is not a range: a [ without its ]; ` + fleet.RangeForms},

		"match":              {"match", []any{"gz-[1-2]*", []string{"gz-2b", "gz-3", "gz-1", "sh-1", "gz-1"}}, []any{"gz-2b", "gz-1", "gz-1"}, ""},
		"match-none":         {"match", []any{"x*", []string{"gz-1"}}, []any{}, ""},
		"match-no-names":     {"match", []any{"*", []string{}}, []any{}, ""},
		"match-slice":        {"match", []any{"[1:]", []string{"30", "10", "20"}}, []any{"10", "20"}, ""},
		"match-open":         {"match", []any{"gz-[1-2", []string{"gz-1"}}, nil, `"gz-[1-2" cannot be read from character 4 on: a [ without its ]`},
		"waves":              {"waves", []any{[]string{"1", "10%", "*2"}, 1000}, []any{1, 100, 200, 400, 299}, ""},
		"waves-fraction":     {"waves", []any{[]string{"1"}, 2.5}, nil, "count must be a whole number, such as 2; got 2.5"},
		"waves-null":         {"waves", []any{[]any{"1", nil}, 10}, nil, "Element 1 is null"},
		"waves-none":         {"waves", []any{[]string{}, 7}, []any{7}, ""},
		"waves-no-hosts":     {"waves", []any{[]string{"1"}, 0}, []any{}, ""},
		"waves-bad":          {"waves", []any{[]string{"1", "0"}, 7}, nil, `"0" is a wave that never grows or has no hosts; the least is 1`},
		"waves-negative":     {"waves", []any{[]string{"1"}, -1}, nil, "count must be from 0 to 100000; got -1"},
		"waves-a-great-many": {"waves", []any{[]string{"1"}, 100001}, nil, "count must be from 0 to 100000; got 100001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, fault := providertest.NewProtocol(t).Call(c.function, c.arguments...)
			if diff := cmp.Diff(c.fault, fault); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMain(m *testing.M) { providertest.Main(m) }
