package bkapi_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// BenchmarkClient_thousandHosts is one result query for 1,000 hosts.
func BenchmarkClient_thousandHosts(b *testing.B) {
	type host struct {
		IP      string `json:"ip"`
		CloudID int    `json:"bk_cloud_id"`
	}
	hosts := make([]host, 1000)
	var results []string
	for i := range hosts {
		hosts[i].IP = fmt.Sprintf("10.0.%d.%d", i/250, i%250)
		results = append(results, fmt.Sprintf(`"0:%s:web:nginx":{"error_code":0,"error_msg":"success","content":%q}`,
			hosts[i].IP, strings.Repeat(`{"value":[]}`, 50)))
	}
	s := httptest.NewServer(ok("{" + strings.Join(results, ",") + "}"))
	defer s.Close()

	client, err := bkapi.New(testConfig(s.URL))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()

	b.ReportAllocs()
	for b.Loop() {
		var out map[string]struct {
			Code    int    `json:"error_code"`
			Content string `json:"content"`
		}
		if _, err := client.Call(b.Context(), query, map[string]any{"hosts": hosts}, &out); err != nil || len(out) != len(hosts) {
			b.Fatalf("got %d hosts and %v", len(out), err)
		}
	}
}
