package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// What Terraform asks of the provider for one bk_hosted_process, each request by
// itself and at three sizes: between them shows what grows faster than the hosts.
func BenchmarkHostedProcess(b *testing.B) {
	for _, hosts := range []int{50, 1000, 10000} {
		life := newHostedLife(b, hosts)
		for name, request := range map[string]func(){
			"validate": life.validate, "upgrade": life.upgrade, "read": life.read, "plan": life.plan, "create": life.create,
		} {
			b.Run(fmt.Sprintf("%s/hosts=%d", name, hosts), func(b *testing.B) {
				life.t = b
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
	*protocol
	sim                    *testSim
	config, proposed, none *tfprotov6.DynamicValue
	state                  *tfprotov6.DynamicValue
	private                []byte
	stored                 *tfprotov6.RawState
}

// newHostedLife has created the resource.
func newHostedLife(b *testing.B, hosts int) *hostedLife {
	b.Helper()
	sim := newSim(b)
	life := &hostedLife{protocol: sim.configured(b), sim: sim}
	addresses := make(map[string]string, hosts)
	for i := range hosts {
		addresses[fmt.Sprintf("web-%05d", i)] = testAddress(i + 1)
	}
	config := hostedConfigOf(addresses)
	schema := life.schema.ResourceSchemas[benchType]
	life.config = life.dynamic(schema, config)
	proposed := maps.Clone(config)
	maps.Copy(proposed, map[string]any{
		"id": notKnown{}, "out_of_sync": notKnown{},
		"ensure": "hosted", "adopt_existing": false, "on_partial_create": "warn", "on_destroy": "unregister",
	})
	life.proposed = life.dynamic(schema, proposed)
	none, err := tfprotov6.NewDynamicValue(schema.ValueType(), tftypes.NewValue(schema.ValueType(), nil))
	if err != nil {
		b.Fatal(err)
	}
	life.none = &none
	life.create()
	stored, err := json.Marshal(plain(b, life.decode(life.state)))
	if err != nil {
		b.Fatal(err)
	}
	life.stored = &tfprotov6.RawState{JSON: stored}
	return life
}

func (l *hostedLife) decode(v *tfprotov6.DynamicValue) tftypes.Value {
	value, err := v.Unmarshal(l.schema.ResourceSchemas[benchType].ValueType())
	if err != nil {
		l.t.Fatal(err)
	}
	return value
}

func (l *hostedLife) validate() {
	resp, err := l.server.ValidateResourceConfig(l.t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: benchType, Config: l.config})
	l.fine(err, resp.Diagnostics)
}

// plan is one that finds nothing to do.
func (l *hostedLife) plan() {
	resp, err := l.server.PlanResourceChange(l.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: benchType, Config: l.config, PriorState: l.state, PriorPrivate: l.private, ProposedNewState: l.state,
	})
	l.fine(err, resp.Diagnostics)
}

// upgrade is asked for with every state that is read, whatever its version.
func (l *hostedLife) upgrade() {
	resp, err := l.server.UpgradeResourceState(l.t.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: benchType, RawState: l.stored})
	l.fine(err, resp.Diagnostics)
}

func (l *hostedLife) read() {
	resp, err := l.server.ReadResource(l.t.Context(), &tfprotov6.ReadResourceRequest{TypeName: benchType, CurrentState: l.state, Private: l.private})
	l.fine(err, resp.Diagnostics)
}

// create plans and applies on hosts where the process is hosted already, by a
// create whose answer got lost: so it can be repeated.
func (l *hostedLife) create() {
	planned, err := l.server.PlanResourceChange(l.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: benchType, Config: l.config, PriorState: l.none, ProposedNewState: l.proposed,
	})
	l.fine(err, planned.Diagnostics)
	applied, err := l.server.ApplyResourceChange(l.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: benchType, Config: l.config, PriorState: l.none, PlannedState: planned.PlannedState, PlannedPrivate: planned.PlannedPrivate,
	})
	l.fine(err, applied.Diagnostics)
	l.state, l.private = applied.NewState, applied.Private
	l.sim.ResetCalls()
}
