package hostedprocess_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// What Terraform asks of the provider for one bk_hosted_process, each request by
// itself and at three sizes: between them shows what grows faster than the hosts.
func BenchmarkHostedProcess(b *testing.B) {
	for _, hosts := range []int{50, 1000, 10000} {
		life := newHostedLife(b, hosts)
		for name, request := range map[string]func(){
			"validate": life.Validate, "upgrade": life.upgrade, "read": life.Read, "plan": life.Plan, "create": life.create,
		} {
			b.Run(fmt.Sprintf("%s/hosts=%d", name, hosts), func(b *testing.B) {
				life.T = b
				b.ReportAllocs()
				for b.Loop() {
					request()
				}
			})
		}
	}
}

// hostedLife is one resource, asked for as Terraform does.
type hostedLife struct {
	*providertest.Protocol
	sim                    *providertest.Sim
	config, proposed, none *tfprotov6.DynamicValue
	state                  *tfprotov6.DynamicValue
	private                []byte
	stored                 *tfprotov6.RawState
}

// newHostedLife has created the resource.
func newHostedLife(tb testing.TB, hosts int) *hostedLife {
	tb.Helper()
	sim := providertest.NewSim(tb)
	life := &hostedLife{Protocol: sim.Configured(tb), sim: sim}
	addresses := make(map[string]string, hosts)
	for i := range hosts {
		addresses[fmt.Sprintf("web-%05d", i)] = providertest.Address(i + 1)
	}
	config := providertest.HostedConfigOf(addresses)
	schema := life.Schema.ResourceSchemas[providertest.HostedType]
	life.config = life.Dynamic(schema, config)
	proposed := maps.Clone(config)
	maps.Copy(proposed, map[string]any{
		"id": providertest.NotKnown{}, "out_of_sync": providertest.NotKnown{},
		"ensure": "hosted", "adopt_existing": false, "on_partial_create": "warn", "on_destroy": "unregister",
	})
	life.proposed = life.Dynamic(schema, proposed)
	none, err := tfprotov6.NewDynamicValue(schema.ValueType(), tftypes.NewValue(schema.ValueType(), nil))
	providertest.NoError(tb, err)
	life.none = &none
	life.create()
	stored, err := json.Marshal(providertest.Plain(tb, life.decode(life.state)))
	providertest.NoError(tb, err)
	life.stored = &tfprotov6.RawState{JSON: stored}
	return life
}

func (l *hostedLife) decode(v *tfprotov6.DynamicValue) tftypes.Value {
	value, err := v.Unmarshal(l.Schema.ResourceSchemas[providertest.HostedType].ValueType())
	providertest.NoError(l.T, err)
	return value
}

func (l *hostedLife) Validate() {
	resp, err := l.Server.ValidateResourceConfig(l.T.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: providertest.HostedType, Config: l.config})
	l.Fine(err, resp.Diagnostics)
}

// Plan is one that finds nothing to do.
func (l *hostedLife) Plan() {
	resp, err := l.Server.PlanResourceChange(l.T.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: providertest.HostedType, Config: l.config, PriorState: l.state, PriorPrivate: l.private, ProposedNewState: l.state,
	})
	l.Fine(err, resp.Diagnostics)
}

// upgrade is asked for with every state that is read, whatever its version.
func (l *hostedLife) upgrade() {
	resp, err := l.Server.UpgradeResourceState(l.T.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: providertest.HostedType, RawState: l.stored})
	l.Fine(err, resp.Diagnostics)
}

func (l *hostedLife) Read() {
	resp, err := l.Server.ReadResource(l.T.Context(), &tfprotov6.ReadResourceRequest{TypeName: providertest.HostedType, CurrentState: l.state, Private: l.private})
	l.Fine(err, resp.Diagnostics)
}

// create plans and applies on hosts where the process is hosted already, by a create whose answer got lost: so it can be repeated.
func (l *hostedLife) create() {
	planned, err := l.Server.PlanResourceChange(l.T.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: providertest.HostedType, Config: l.config, PriorState: l.none, ProposedNewState: l.proposed,
	})
	l.Fine(err, planned.Diagnostics)
	applied, err := l.Server.ApplyResourceChange(l.T.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: providertest.HostedType, Config: l.config, PriorState: l.none, PlannedState: planned.PlannedState, PlannedPrivate: planned.PlannedPrivate,
	})
	// Each create but the first takes the hosts over, with a warning.
	l.Fine(err, slices.DeleteFunc(applied.Diagnostics, func(d *tfprotov6.Diagnostic) bool { return strings.HasPrefix(d.Summary, "Hosts Taken Over") }))
	l.state, l.private = applied.NewState, applied.Private
	l.sim.ResetCalls()
}

// A plan that finds nothing to do reads each host a few times, and never walks through the fleet
// with copies: that made plans of ten thousand hosts three times as slow once, and nothing failed.
func TestHostedProcess_planAllocates(t *testing.T) { //nolint:paralleltest // allocations of other tests would count
	of := func(hosts int) float64 {
		life := newHostedLife(t, hosts)
		return testing.AllocsPerRun(1, life.Plan)
	}
	const perHost = 10
	few, many := of(500), of(1500)
	grown := (many - few) / 1000
	providertest.Check(t, grown <= perHost, "a plan makes %.1f allocations for each host, of at most %d", grown, perHost)
}
