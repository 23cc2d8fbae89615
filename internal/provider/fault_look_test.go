package provider

import (
	"maps"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// status reads the data source.
func (r *faultRun) status() {
	r.t.Helper()
	r.startAll()
	r.sim.ResetCalls()
	r.inject()
	read := func(p *protocol, config map[string]any) (map[string]any, diagnostics) {
		if said := p.validateData(r.face.typeName(r.on), config); said.failed() {
			return nil, said
		}
		return p.readData(r.face.typeName(r.on), config)
	}
	meeting := configuredWith(r.t, r.settings)
	meeting.until = r.deadline()
	values, said := read(meeting, r.declared())
	r.expectSaid(said)
	r.expectTries()
	r.expectStates(values)
	r.mend()
	values, said = read(configuredWith(r.t, r.sim.settingsFor(r.face)), r.config(r.on))
	if len(said) > 0 {
		r.t.Errorf("said once the fault has gone:\n%s", said)
	}
	r.expectRunning(values)
}

// expectStates looks at what the data source gives, nothing where it failed.
func (r *faultRun) expectStates(values map[string]any) {
	r.t.Helper()
	want := keyed(hostNumbers(r.hosts()), string(fleet.Running))
	switch {
	case r.cell.ending == fails, r.cell.ending == refused:
		want = nil
	case r.cell.ending == warns:
		maps.Copy(want, keyed(r.hit(), string(fleet.Unknown)))
	case r.fault.state != "":
		maps.Copy(want, keyed(r.hit(), string(r.fault.state)))
	}
	if diff := gocmp.Diff(want, statesOf(values)); diff != "" {
		r.t.Errorf("states (-want +got):\n%s", diff)
	}
	if changes := r.sim.changes(); len(changes) > 0 {
		r.t.Errorf("a question changed something: %v", changes)
	}
}

// expectRunning is for when the fault has gone.
func (r *faultRun) expectRunning(values map[string]any) {
	r.t.Helper()
	if diff := gocmp.Diff(keyed(hostNumbers(r.hosts()), string(fleet.Running)), statesOf(values)); diff != "" {
		r.t.Errorf("states once the fault has gone (-want +got):\n%s", diff)
	}
}

// find has the platform list the hosts of the process, for an import or a list.
func (r *faultRun) find() {
	r.t.Helper()
	r.startAll()
	r.inject()
	r.sim.ResetCalls()
	meeting := configuredWith(r.t, r.settings)
	hosts, said := find(meeting, r.on)
	r.expectSaid(said)
	r.expectTries()
	good := make(map[string]string)
	for _, address := range r.addresses(hostNumbers(r.hosts())) {
		good[address] = address
	}
	want := maps.Clone(good)
	switch r.cell.ending {
	case fails:
		want = nil
	default:
		for _, address := range r.addresses(r.fault.unlisted) {
			delete(want, address)
		}
		if len(want) == 0 {
			want = nil
		}
	}
	if diff := gocmp.Diff(want, hosts); diff != "" {
		r.t.Errorf("hosts (-want +got):\n%s", diff)
	}
	if changes := r.sim.changes(); len(changes) > 0 {
		r.t.Errorf("a question changed something: %v", changes)
	}
	r.mend()
	hosts, said = find(configuredWith(r.t, r.sim.settingsFor(r.face)), r.on)
	if diff := gocmp.Diff(good, hosts); diff != "" || len(said) > 0 {
		r.t.Errorf("hosts once the fault has gone (-want +got):\n%s%s", diff, said)
	}
}

// find gives the hosts of the process of the matrix as an import or a list has them,
// nil where there is none.
func find(p *protocol, on operation) (map[string]string, diagnostics) {
	p.t.Helper()
	typ := p.schema.ResourceSchemas[testList].ValueType()
	if on == onImport {
		resp, err := p.server.ImportResourceState(p.context(), &tfprotov6.ImportResourceStateRequest{TypeName: testList, ID: "web:nginx"})
		if err != nil {
			p.t.Fatal(err)
		}
		if diagnostics(resp.Diagnostics).failed() {
			return nil, resp.Diagnostics
		}
		return hostsIn(p.read(resp.ImportedResources[0].State, typ)), resp.Diagnostics
	}
	stream, err := p.server.ListResource(p.context(), &tfprotov6.ListResourceRequest{
		TypeName: testList, IncludeResource: true,
		Config: p.dynamic(p.schema.ListResourceSchemas[testList], map[string]any{"namespace": "web", "name_prefix": "nginx"}),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	var (
		hosts map[string]string
		said  diagnostics
	)
	for result := range stream.Results {
		said = append(said, result.Diagnostics...)
		if result.Resource != nil {
			hosts = hostsIn(p.read(result.Resource, typ))
		}
	}
	return hosts, said
}
