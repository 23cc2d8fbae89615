package reference_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// In tests of mappings every field has a different value, so a missing or misplaced field shows in the body that was sent.

// mappedHosts have ids with different clouds, suppliers and addresses. The third has the supplier of the provider block.
var mappedHosts = map[string]string{"first": "3:7:10.0.0.1", "second": "4:8:10.0.0.2", "third": "5:10.0.0.3"}

const (
	mappedSupplier = 9
	// mappedHostsV1 and mappedHostsV2 are these hosts in the first and in the second generation of the documents.
	mappedHostsV1 = `[
		{"bk_cloud_id": 3, "bk_supplier_id": 7, "ip": "10.0.0.1"},
		{"bk_cloud_id": 4, "bk_supplier_id": 8, "ip": "10.0.0.2"},
		{"bk_cloud_id": 5, "bk_supplier_id": 9, "ip": "10.0.0.3"}
	]`
	mappedHostsV2 = `[{"bk_cloud_id": 3, "ip": "10.0.0.1"}, {"bk_cloud_id": 4, "ip": "10.0.0.2"}, {"bk_cloud_id": 5, "ip": "10.0.0.3"}]`
	// mappedCaller is the credentials in every body of the ESB.
	mappedCaller = `"bk_app_code": "bk_test", "bk_app_secret": "***", "bk_username": "admin"`
)

// someOwner replaces the id of the object that registers, which is random.
const someOwner = "SOME-OWNER"

var ownerLabel = regexp.MustCompile(`(_owner": ?)"[A-Z2-7]{16}"`)

// expectSent compares the bodies of all requests to a target with JSON texts, in any order. The simulator does not keep the secret.
func expectSent(t *testing.T, s *providertest.Sim, at providertest.Target, want ...string) {
	t.Helper()
	var got []string
	for _, call := range at.Calls(s.Calls()) {
		got = append(got, ownerLabel.ReplaceAllString(string(call.Body), `${1}"`+someOwner+`"`))
	}
	diff := procapitest.DiffJSON(t, sortedJSON(t, want), sortedJSON(t, got))
	providertest.Check(t, diff == "", "bodies sent to %s (-want +got):\n%s", at.API, diff)
}

// sortedJSON is a list of documents, sorted by their canonical texts.
func sortedJSON(t *testing.T, documents []string) []byte {
	t.Helper()
	canonical := make([]string, len(documents))
	for i, document := range documents {
		var tree any
		if err := json.Unmarshal([]byte(document), &tree); err != nil {
			t.Fatalf("%s\n%s", err, document)
		}
		text, err := json.Marshal(tree)
		providertest.NoError(t, err)
		canonical[i] = string(text)
	}
	slices.Sort(canonical)
	return []byte("[" + strings.Join(canonical, ",") + "]")
}

// expectAsked compares the bodies of the requests for results with the tasks that began.
func expectAsked(t *testing.T, s *providertest.Sim, api, body string) {
	t.Helper()
	var want []string
	for _, call := range s.Calls() {
		if call.TaskID != "" && call.API != api {
			want = append(want, strings.ReplaceAll(body, "TASK", call.TaskID))
		}
	}
	expectSent(t, s, providertest.Target{API: api}, want...)
}

// mappedOperations are the operations of a process by their op types.
var mappedOperations = map[string]int{
	"start": simulator.OpStart, "stop": simulator.OpStop, "restart": simulator.OpRestart,
	"reload": simulator.OpReload, "kill": simulator.OpKill,
}

// operateMapped runs one operation on hosts that need it.
func operateMapped(s *providertest.Sim, p *providertest.Protocol, typ, operation string, reference map[string]any, hosts map[string]string, namespace, name string) {
	p.T.Helper()
	prepare := s.StartProcess
	if operation == "start" {
		prepare = s.StopProcess
	}
	for _, address := range hosts {
		providertest.NoError(p.T, errors.Join(s.Host(address, namespace, name), prepare(address, namespace, name)))
	}
	s.ResetCalls()
	config := maps.Clone(reference)
	config["operation"] = operation
	run := p.CoreOf(typ, &providertest.Kept{})
	if said := run.Validate(config); len(said) > 0 {
		p.T.Fatal(said)
	}
	run.Apply(config) // some operations fail for a one-shot process, but the requests are the same
}

// impatient sets a short deadline for results that never come, as when a host was sent under another name.
func impatient(t *testing.T, p *providertest.Protocol) *providertest.Protocol {
	t.Helper()
	until, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	p.Until = until
	return p
}

// jsonOf is an object as requests have it: without empty texts.
func jsonOf(v object) string {
	text, err := json.Marshal(withoutEmpty(v))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// withoutEmpty is a value without empty texts, and without lists and objects that are then empty.
func withoutEmpty(value any) any {
	switch value := value.(type) {
	case object:
		left := object{}
		for name, inner := range value {
			if inner = withoutEmpty(inner); inner != nil {
				left[name] = inner
			}
		}
		if len(left) > 0 {
			return left
		}
		return nil
	case []any:
		var left []any
		for _, inner := range value {
			if inner = withoutEmpty(inner); inner != nil {
				left = append(left, inner)
			}
		}
		if left != nil {
			return left
		}
		return nil
	case string:
		if value == "" {
			return nil
		}
	}
	return value
}
