package gse

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// The key of the other generation names the host too, unless it may be another host's key. For IPv6, the
// first form of one host is the second form of another.
func TestKeys_otherGeneration(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		host       string
		own, other string
		want       int64
	}{
		"ipv4": {"0:10.0.0.1", "0:10.0.0.1:gse:proc-test", "0:0:10.0.0.1:gse:proc-test", procapi.CodeCommandFailed},
		"ipv6": {"0:2001:db8::1", "0:2001:db8::1:gse:proc-test", "0:0:2001:db8::1:gse:proc-test", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := procapitest.Parse(t, test.host)
			others := said(test.other, code(procapi.CodeCommandFailed))

			_, url := newScript(t, accepted, result(others), procapitest.Times(procapitest.ForEver, result(said(test.own, code(0)))))
			operated := quick(t, url).Process(sampleMeta, sampleSpec()).Operate(t.Context(), fleet.Start, h, nil)[h[0]]
			if operated.Code != test.want {
				t.Errorf("operate: got %+v, want code %d", operated, test.want)
			}

			_, url = newScript(t,
				exchange{API: apiRegister, Reply: procapitest.Data(said(test.own, code(procapi.CodeCommandFailed)))},
				procapitest.Times(procapitest.ForEver, exchange{API: apiRegister, Reply: procapitest.Data(said(test.other, code(0)))}))
			registered := registerOnly(t.Context(), quick(t, url).Process(sampleMeta, sampleSpec()), h)[h[0]]
			if registered.Code != test.want {
				t.Errorf("register: got %+v, want code %d", registered, test.want)
			}
		})
	}
}

// Keys are built, never parsed: their parts may contain the separator.
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
