package procapi

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

func BenchmarkParseStatus(b *testing.B) {
	content := one(`{"pid":42,"isAuto":true,"version":"1.25.3\n","cpuUsage":1.5,"register_time":1600000000}`)
	b.ReportAllocs()
	for b.Loop() {
		if s := parseStatus(content, "nginx", bkapi.Printable); s.State != fleet.Running {
			b.Fatal(s)
		}
	}
}

// BenchmarkVerdicts decodes the answer to a full request and finds the hosts' verdicts.
func BenchmarkVerdicts(b *testing.B) {
	var (
		all     = make([]fleet.Host, DefaultMaxHosts)
		start   = CallOf(fleet.Start, false)
		keys    = func(h fleet.Host) iter.Seq[string] { return slices.Values([]string{h.Address() + ":gse:proc-test"}) }
		redact  = func(text string) string { return text }
		results = make([]string, len(all))
	)
	for i := range all {
		all[i] = fleet.NewHost(0, 0, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
		results[i] = fmt.Sprintf(`%q:{"error_code":0,"error_msg":"message 0","content":""}`, all[i].Address()+":gse:proc-test")
	}
	body := []byte("{" + strings.Join(results, ",") + "}")
	b.ReportAllocs()
	for b.Loop() {
		var answers ResultMap
		if err := json.Unmarshal(body, &answers); err != nil {
			b.Fatal(err)
		}
		verdicts := NewVerdicts(start, keys, redact, all)
		if verdicts.Take(answers, Source{}); len(verdicts.Pending) > 0 {
			b.Fatal(verdicts.Pending)
		}
	}
}
