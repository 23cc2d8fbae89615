package faultmatrix

import (
	"cmp"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

type (
	operation = providertest.Operation
	face      = providertest.Face
)

const (
	onCreate    = providertest.OnCreate
	onAskFirst  = providertest.OnAskFirst
	onConfirm   = providertest.OnConfirm
	onHost      = providertest.OnHost
	onRun       = providertest.OnRun
	onRead      = providertest.OnRead
	onAsk       = providertest.OnAsk
	onReadRun   = providertest.OnReadRun
	onUpdate    = providertest.OnUpdate
	onKeepRun   = providertest.OnKeepRun
	onDelete    = providertest.OnDelete
	onReadOwner = providertest.OnReadOwner
	onOperate   = providertest.OnOperate
	onWait      = providertest.OnWait
	onStop      = providertest.OnStop
	onKill      = providertest.OnKill
	onRestart   = providertest.OnRestart
	onReload    = providertest.OnReload
	onStatus    = providertest.OnStatus
	onCached    = providertest.OnCached
	onImport    = providertest.OnImport
	onList      = providertest.OnList
)

var operations = []operation{
	onCreate, onAskFirst, onConfirm, onHost, onRun, onRead, onAsk, onReadRun, onUpdate, onKeepRun, onDelete, onReadOwner, onOperate, onWait, onStop, onKill, onRestart, onReload,
	onStatus, onCached, onImport, onList,
}

var (
	faces          = []face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB}
	gseFaces       = faces[:2:2]
	withoutGateway = []face{providertest.FaceESB, providertest.FaceJOB}
	esbOnlyFace    = faces[:1:1]
	gatewayFace    = faces[1:2:2]
	jobFace        = faces[2:]
)

func (r *faultRun) resultKey(n int) string {
	namespace, name := r.Process()
	address := r.address(n)
	switch {
	case r.face == providertest.FaceJOB:
		return name + ":" + address
	case r.face.Answers(r.on):
		return "0:" + address + ":" + namespace + ":" + name
	}
	return address + ":" + namespace + ":" + name
}

// bendResult replaces members of the answers that hold results, so many times, or always for 0.
func (r *faultRun) bendResult(members map[string]any, times int) {
	bent := simulator.Fault{API: r.face.ResultAPI(), Replace: members, Times: times}
	if r.face.Answers(r.on) {
		bent.API = r.face.Target(r.on).API
	}
	r.sim.Inject(bent)
}

func (r *faultRun) hosts() int { return cmp.Or(r.fault.hosts, matrixHosts) }

func (r *faultRun) address(n int) string { return r.addressFor(r.on, n) }

func (r *faultRun) addressFor(o operation, n int) string {
	if r.fault.address == nil {
		return providertest.Address(n)
	}
	return r.fault.address(o, n)
}

func (r *faultRun) addresses(numbers []int) []string {
	addresses := make([]string, len(numbers))
	for i, n := range numbers {
		addresses[i] = r.address(n)
	}
	return addresses
}

func (r *faultRun) keysOf(addresses []string) []string {
	var keys []string
	for n := 1; n <= r.hosts(); n++ {
		if slices.Contains(addresses, r.address(n)) {
			keys = append(keys, providertest.HostKey(n))
		}
	}
	return keys
}

// Process is how the simulator knows the process of the cell.
func (r *faultRun) Process() (namespace, name string) {
	namespace, name = r.face.Process()
	return namespace, cmp.Or(r.fault.process, name)
}

func (r *faultRun) at(n int) simulator.Process {
	namespace, name := r.Process()
	p, _ := r.sim.Process(r.address(n), namespace, name)
	return p
}

// setAutoType says how the process of a configuration lives.
func setAutoType(config map[string]any, autoType int) {
	if process, ok := config["process"].(map[string]any); ok {
		process["type"] = autoType
	}
	if spec, ok := config["spec"].(map[string]any); ok {
		spec["monitor_policy"] = map[string]any{"auto_type": autoType}
	}
}
