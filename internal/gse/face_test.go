package gse

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Keys are built, never taken apart: their parts may hold the separator.
func TestKeys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		host   string
		meta   Meta
		v1, v2 string
	}{
		"documented": {"1:2:10.0.0.1", sampleMeta, "1:2:10.0.0.1:gse:proc-test", "1:10.0.0.1:gse:proc-test"},
		"ipv6":       {"0:2001:DB8::0:1", sampleMeta, "0:0:2001:db8::1:gse:proc-test", "0:2001:db8::1:gse:proc-test"},
		"separators": {"0:10.0.0.1", Meta{Namespace: "a:b", Name: "c:d"}, "0:0:10.0.0.1:a:b:c:d", "0:10.0.0.1:a:b:c:d"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := fleet.ParseHost(test.host, 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{test.v1, test.v2}, []string{keyV1(h, test.meta), keyV2(h.WithoutSupplier(), test.meta)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
