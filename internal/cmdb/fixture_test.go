package cmdb_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/expression"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// world has two businesses that may be read and one that may not.
const world = `{"businesses": [
  {"id": 2, "name": "web", "sets": [{"name": "main", "modules": [{"name": "lb", "hosts": [{"count": 2, "ip": "10.2.0.1"}]}]}]},
  {"id": 3, "name": "game",
   "templates": [{"id": 70, "name": "nginx", "processes": [{"bk_process_name": "nginx", "bk_func_name": "nginx"}]}, {"id": 71, "name": "redis", "processes": []}, {"id": 72, "name": "redis", "processes": []}],
   "sets": [
     {"id": 31, "name": "gz-[1-3]", "modules": [
       {"id": 101, "name": "nginx-a", "template": "nginx", "hosts": [{"count": 2, "ip": "10.3.0.1", "name": "n[1-6]"}]},
       {"id": 110, "name": "db", "hosts": [{"count": 1, "ip": "10.3.1.1"}]}]},
     {"id": 41, "name": "sh-1", "env": "1", "modules": [{"name": "nginx-b", "hosts": [{"ip": "10.3.2.1"}], "shares": ["0:10.3.0.1"], "processes": [{"bk_process_name": "b", "bk_func_name": "b"}]}, {"name": "empty"}]}],
   "idle": [{"count": 3, "ip": "10.3.9.1"}],
   "groups": [
     {"id": "g1", "name": "one set", "object": "set", "conditions": [{"bk_obj_id": "set", "field": "bk_set_name", "operator": "$eq", "value": "sh-1"}]},
     {"id": "g2", "name": "by name", "object": "host", "conditions": [{"bk_obj_id": "host", "field": "bk_host_innerip", "operator": "$in", "value": ["10.3.0.2", "10.3.9.1"]}]},
     {"id": "g3", "name": "nobody", "object": "host", "conditions": [{"bk_obj_id": "host", "field": "bk_host_innerip", "operator": "$eq", "value": "10.9.9.9"}]},
     {"id": "g4", "name": "twice", "object": "host"}, {"id": "g5", "name": "twice", "object": "host"}]},
  {"id": 4, "name": "bare"},
  {"id": 5, "name": "secret", "no_permission": true},
  {"id": 6, "name": "deep", "levels": ["region", "zone"], "sets": [
     {"name": "s", "under": ["south", "a"], "modules": [{"name": "m", "hosts": [{"ip": "10.6.0.1"}]}]},
     {"name": "s", "under": ["north", "b"], "modules": [{"name": "m", "hosts": [{"ip": "10.6.0.2"}]}]}]}
]}`

// answering is a client of a gateway where each API has one answer, whatever the question. API is a part of a path.
func answering(t *testing.T, answers map[string]string) *cmdb.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for api, body := range answers {
			if strings.Contains(r.URL.Path, api) {
				_, _ = io.WriteString(w, body)
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return newClient(t, server.URL, bkapi.APIGW)
}

// serve serves a simulator with a topology, and returns a client of it.
func serve(t *testing.T, sim *simulator.Server, gateway bkapi.Gateway, topology string) *cmdb.Client {
	t.Helper()
	parsed, err := simulator.ParseTopology([]byte(topology))
	fine(t, err)
	sim.Topology = parsed
	server := httptest.NewServer(sim)
	t.Cleanup(func() {
		server.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
		for _, violation := range sim.Violations() {
			t.Errorf("violation: %s", violation)
		}
	})
	url := server.URL
	if gateway == bkapi.APIGW {
		url += "/api/bk-cmdb/prod/"
	}
	return newClient(t, url, gateway)
}

func newClient(t *testing.T, url string, gateway bkapi.Gateway) *cmdb.Client {
	t.Helper()
	api, err := bkapi.New(bkapi.Config{
		Endpoint: url, Gateway: gateway, AppCode: simulator.DefaultAppCode, AppSecret: simulator.DefaultAppSecret, Username: "admin",
		Limits: bkapi.NewLimits(8, 0),
	})
	fine(t, err)
	t.Cleanup(api.Close)
	return cmdb.NewClient(api, gateway)
}

func expr(text string) *expression.Expression {
	parsed, err := expression.Parse(text)
	if err != nil {
		panic(err)
	}
	return parsed
}

// found are hosts with their places, in one text.
func found(hosts []cmdb.Host) string {
	var texts []string
	for _, h := range hosts {
		text := strings.TrimPrefix(h.IP, "10.")
		for _, p := range h.Places {
			text += " " + p.String()
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fine ends the test if there is an error.
func fine(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
