package faultmatrix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

type held struct{ registered, hosted, running bool }

func (h held) String() string {
	var words []string
	for _, w := range []struct {
		is        bool
		yes, name string
	}{{h.registered, "registered", "not registered"}, {h.hosted, "hosted", "not hosted"}, {h.running, "running", "not running"}} {
		words = append(words, map[bool]string{true: w.yes, false: w.name}[w.is])
	}
	return strings.Join(words, ", ")
}

var (
	nothingHeld = held{}
	allHeld     = held{true, true, true}
)

// effect is what an operation does to a process besides what its name says.
type effect struct {
	on            operation
	by            []face
	before, after held
}

// effectTable is a part of the page.
var effectTable = []effect{
	{onCreate, esbOnlyFace, nothingHeld, held{registered: true}},
	{onCreate, []face{providertest.FaceGateway}, nothingHeld, held{registered: true, hosted: true}},
	{onCreate, jobFace, nothingHeld, held{hosted: true}},
	{onCreate, esbOnlyFace, held{running: true}, held{registered: true, running: true}},
	{onHost, esbOnlyFace, nothingHeld, held{registered: true, hosted: true}},
	{onRun, gseFaces, nothingHeld, allHeld},
	{onRun, jobFace, nothingHeld, held{hosted: true, running: true}},
	{onDelete, gseFaces, allHeld, held{running: true}},
	{onDelete, jobFace, held{hosted: true, running: true}, held{running: true}},
	{onOperate, faces, nothingHeld, held{hosted: true, running: true}},
	{onOperate, faces, held{registered: true}, allHeld},
	{onStop, faces, allHeld, held{registered: true}},
	{onStop, []face{providertest.FaceESB, providertest.FaceJOB}, held{registered: true, hosted: true}, held{registered: true}},
	{onStop, []face{providertest.FaceGateway}, held{registered: true, hosted: true}, nothingHeld}, // unhosting unregisters there
	{onKill, faces, allHeld, held{registered: true}},
	{onRestart, faces, allHeld, allHeld},
	{onRestart, faces, held{registered: true, running: true}, allHeld},
	{onReload, faces, allHeld, allHeld},
	{onReload, faces, held{registered: true, running: true}, held{registered: true, running: true}},
	{onStatus, faces, held{registered: true, running: true}, held{registered: true, running: true}},
}

// What operations do besides.
func TestFaultMatrix_effects(t *testing.T) {
	t.Parallel()
	for i, e := range effectTable {
		for _, by := range e.by {
			t.Run(fmt.Sprintf("%d/%s/%s", i, e.on.Path(), by), func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				r := &faultRun{t: t, sim: sim, face: by, on: e.on, settings: sim.SettingsFor(by), kept: &providertest.Kept{}}
				if e.on == onDelete {
					r.applies(onRun)
				} else {
					r.bring(e.before)
				}
				r.expectHeld("before", e.before)
				var said providertest.Diagnostics
				if e.on.Stateless() {
					_, said = providertest.ConfiguredWith(t, r.settings).ReadData(by.TypeName(e.on), r.config(e.on))
				} else {
					_, said = r.Run(r.settings).Apply(r.config(e.on))
				}
				if len(said) > 0 {
					t.Error(said)
				}
				r.expectHeld("after", e.after)
			})
		}
	}
}

func (r *faultRun) bring(to held) {
	if to == nothingHeld {
		return
	}
	r.registerAll()
	if to.running {
		r.each(r.sim.StartProcess)
		r.each(r.sim.Unhost)
	}
	if !to.registered {
		r.each(r.sim.Unregister)
	}
	if to.hosted {
		r.each(r.sim.Host)
	}
}

func (r *faultRun) expectHeld(when string, want held) {
	for _, n := range providertest.HostNumbers(r.hosts()) {
		p := r.at(n)
		if got := (held{p.Registered, p.Hosted, p.Running}); got != want {
			r.t.Errorf("%s, %s is %s, want %s", when, providertest.HostKey(n), got, want)
		}
	}
}
