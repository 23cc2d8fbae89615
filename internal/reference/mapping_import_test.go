package reference_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// Everything that the platform lists of a process is in its attribute after an import and in a list. The
// gateway lists no suppliers, and agent ids in place of addresses if it has them.
//
// Promised in drift-in-ci.md: `registered`, `hosted` (the default) or `running`.
func TestMappingGSE_listed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		face  providertest.Face
		hosts map[string]string
		want  map[string]any
	}{
		"esb": {providertest.FaceESB, nil, map[string]any{"3:10.0.0.1": "3:7:10.0.0.1", "4:10.0.0.2": "4:8:10.0.0.2", "5:10.0.0.3": "5:10.0.0.3"}},
		"gateway": {providertest.FaceGateway, map[string]string{"fourth": mappedAgent}, map[string]any{
			"3:10.0.0.1": "3:10.0.0.1", "4:10.0.0.2": "4:10.0.0.2", "5:10.0.0.3": "5:10.0.0.3", mappedAgent: mappedAgent,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.AddHost(mappedAgent)
			m := gseMappings["resident"]
			hosts := maps.Clone(mappedHosts)
			maps.Copy(hosts, c.hosts)
			registered := mapped(t, sim, c.face, m).CoreOf(providertest.HostedType, &providertest.Kept{})
			registered.Applied(m.Reference(hosts))
			identity := map[string]any{"namespace": "name-space", "name": "process-name"}
			want := map[string]any{
				"id": "name-space:process-name", "hosts": c.want, "spec": nil, "out_of_sync": map[string]any{},
				"meta": map[string]any{
					"namespace": "name-space", "name": "process-name", "labels": map[string]any{"team": "label-team", "tier": "label-tier"},
				},
				"ensure": "hosted", "on_destroy": "unregister", "on_partial_create": "warn", "on_update": nil,
				"adopt_existing": nil, "forget_unreachable": nil, "max_unreachable_hosts": nil, "unreachable": map[string]any{}, "rollout": nil, "rollout_plan": nil, "safety": nil, "timeouts": nil, "verify": nil,
				"fingerprint": nil, "labels_all": nil, "owner": nil, "process": nil,
			}
			// The refresh after an import finds the fingerprint and the owner in the cached status, and
			// the process's own values.
			refreshed := maps.Clone(want)
			refreshed["fingerprint"], refreshed["owner"] = "v1-00a1253b106f04c2", registered.Attribute("owner")
			process, err := json.Marshal(map[string]any{"meta": want["meta"], "hosts": want["hosts"]})
			providertest.NoError(t, err)

			p := mapped(t, sim, c.face, m)
			resource := p.CoreOf(providertest.HostedType, &providertest.Kept{})
			sim.ResetCalls()
			if said := resource.Imports("name-space:process-name"); len(said) > 0 {
				t.Fatal(said)
			}
			caller := ""
			if c.face == providertest.FaceESB {
				caller = mappedCaller + ", "
			}
			expectSent(t, sim, providertest.Target{API: "sync_proc_status"}, `{`+caller+`"meta": {"namespace": "name-space"}, "page": {"start": 0, "limit": 1000}}`)
			if diff := procapitest.DiffJSON(t, process, []byte(declarations()["gse"].in(t, resource))); diff != "" {
				t.Errorf("process of an import (-want +got):\n%s", diff)
			}
			refreshed["process"] = declarations()["gse"].in(t, resource)
			providertest.Same(t, "imported", refreshed, providertest.Plain(t, resource.State))
			providertest.Same(t, "identity of an import", identity, p.IdentityOf(resource.Identity))

			results, said := p.List(tfprotov6.ListResourceRequest{IncludeResource: true}, map[string]any{"namespace": "name-space"})
			if diff := cmp.Diff([]providertest.Listed{{Name: "name-space:process-name", Identity: identity, Resource: want}}, results); diff != "" || said != "" {
				t.Errorf("listed (-want +got):\n%s%s", diff, said)
			}
		})
	}
}
