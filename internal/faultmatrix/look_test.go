package faultmatrix

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func (r *faultRun) Status() {
	r.startAll()
	r.sim.ResetCalls()
	r.FailHosts()
	read := func(p *providertest.Protocol, config map[string]any) (map[string]any, providertest.Diagnostics) {
		if said := p.ValidateData(r.face.TypeName(r.on), config); said.Failed() {
			return nil, said
		}
		return p.ReadData(r.face.TypeName(r.on), config)
	}
	meeting := providertest.ConfiguredWith(r.t, r.settings)
	meeting.Until = r.deadline()
	values, said := read(meeting, r.declared())
	r.expectSaid(said)
	r.expectTries()
	r.expectStates(values)
	r.Repair()
	values, said = read(providertest.ConfiguredWith(r.t, r.sim.SettingsFor(r.face)), r.config(r.on))
	if len(said) > 0 {
		r.t.Errorf("said once the fault has gone:\n%s", said)
	}
	r.expectRunning(values)
}

// expectStates looks at what the data source gives, nothing where it failed.
func (r *faultRun) expectStates(values map[string]any) {
	want := keyed(providertest.HostNumbers(r.hosts()), string(fleet.Running))
	switch {
	case r.cell.ending == fails, r.cell.ending == refused:
		want = nil
	case r.fault.state != "":
		maps.Copy(want, keyed(r.hit(), string(r.fault.state)))
	case r.cell.ending == warns:
		maps.Copy(want, keyed(r.hit(), string(fleet.Unknown)))
	}
	same(r.t, "states", want, providertest.StatesOf(values))
	r.sim.Changed(r.t)
}

func (r *faultRun) expectRunning(values map[string]any) {
	same(r.t, "states once the fault has gone", keyed(providertest.HostNumbers(r.hosts()), string(fleet.Running)), providertest.StatesOf(values))
}

// find has the platform list the hosts of the process, for an import or a list.
func (r *faultRun) find() {
	r.startAll()
	r.FailHosts()
	r.sim.ResetCalls()
	meeting := providertest.ConfiguredWith(r.t, r.settings)
	hosts, said := find(meeting, r.on)
	r.expectSaid(said)
	r.expectTries()
	good := make(map[string]string)
	for _, address := range r.addresses(providertest.HostNumbers(r.hosts())) {
		good[address] = address
	}
	want := maps.Clone(good)
	for _, address := range r.addresses(r.fault.unlisted) {
		delete(want, address)
	}
	if r.cell.ending == fails || len(want) == 0 {
		want = nil
	}
	same(r.t, "hosts", want, hosts)
	r.sim.Changed(r.t)
	r.Repair()
	hosts, said = find(providertest.ConfiguredWith(r.t, r.sim.SettingsFor(r.face)), r.on)
	same(r.t, "hosts once the fault has gone", good, hosts)
	same(r.t, "said once the fault has gone", "", said.String())
}

// find gives the hosts of the process of the matrix as an import or a list has them, nil where there is none.
func find(p *providertest.Protocol, on operation) (map[string]string, providertest.Diagnostics) {
	p.T.Helper()
	typ := p.Schema.ResourceSchemas[providertest.HostedType].ValueType()
	if on == onImport {
		resp, err := p.Server.ImportResourceState(p.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: providertest.HostedType, ID: "web:nginx"})
		providertest.NoError(p.T, err)
		if providertest.Diagnostics(resp.Diagnostics).Failed() {
			return nil, resp.Diagnostics
		}
		return providertest.HostsIn(p.Read(resp.ImportedResources[0].State, typ)), resp.Diagnostics
	}
	stream, err := p.Server.ListResource(p.Context(), &tfprotov6.ListResourceRequest{
		TypeName: providertest.HostedType, IncludeResource: true,
		Config: p.Dynamic(p.Schema.ListResourceSchemas[providertest.HostedType], map[string]any{"namespace": "web", "name_prefix": "nginx"}),
	})
	providertest.NoError(p.T, err)
	var (
		hosts map[string]string
		said  providertest.Diagnostics
	)
	for result := range stream.Results {
		said = append(said, result.Diagnostics...)
		if result.Resource != nil {
			hosts = providertest.HostsIn(p.Read(result.Resource, typ))
		}
	}
	return hosts, said
}
