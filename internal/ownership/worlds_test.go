package ownership

import (
	"fmt"
	"slices"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// actor is who registered last: this object, another one, or a console, which writes no owner label.
type actor uint8

const (
	nobody actor = iota
	us
	another
	console
)

// registration is what is registered on the machine. A console that registers over another object does not become the owner.
type registration struct {
	named actor // by the owner label
	whose actor
	at    int8
	bare  bool // not hosted
	// shared: a console registered over this object's registration. To call either of them the owner is right.
	shared bool
}

type picture struct {
	named actor
	at    int8
}

func (r registration) picture() picture {
	if r.whose == nobody {
		return picture{}
	}
	return picture{r.named, r.at}
}

// kind is what does not change in a world.
type kind struct {
	face Face
	// ensure is registered: nothing is hosted.
	registersOnly bool
	// timed: agents know the registration time. The others: an operation, or registering again, renews that time.
	timed, operationRenews, reregisteringRenews bool
}

// world is one machine with its history, and what this object knows of it.
type world struct {
	is       registration
	pictures [8]picture // those that the cached status may still show, the latest last
	n        int8
	now      int8

	claim         Claim
	at, overtaken int8
	lost          bool // the ledger was lost

	// second: another object or a console acted. faulty: an answer or the ledger was lost, or an agent did not answer.
	second, faulty bool
	// forgot: the agent no longer knows the registration time.
	forgot bool
	// kept: the registration has the time of another owner's registration. misled: a refresh judged by an old
	// picture that no evidence shows to be old.
	kept, misled bool
}

func (w world) snap() world {
	p := w.is.picture()
	if w.n > 0 && w.pictures[w.n-1] == p {
		return w
	}
	w.pictures[w.n] = p
	w.n++
	return w
}

func (w world) live(p kind) (at int8, hosted bool) {
	if w.is.whose == nobody || w.is.bare {
		return 0, false
	}
	if !p.timed || w.forgot {
		return 0, true
	}
	return w.is.at, true
}

func (w world) register(by actor, p kind) world {
	at, whose, kept, shared := w.now, by, false, false
	if w.is.whose != nobody && !w.is.bare && !p.reregisteringRenews {
		at = w.is.at
		kept = w.kept || w.is.named != by
	}
	w.kept = kept
	if by == nobody {
		whose, shared = console, w.is.whose == us
	}
	w.is = registration{named: by, whose: whose, at: at, bare: p.registersOnly, shared: shared}
	w.now++
	return w.snap()
}

// looks ends an apply by asking the agent.
func (w world) looks(p kind) world {
	w.at, _ = w.live(p)
	return w
}

type event struct {
	name string
	can  func(world, kind) bool
	do   func(world, kind) world
}

func (w world) mine() bool { return w.claim == Registered || w.claim == Overtaken }

func (w world) empty() bool { return w.claim == 0 && w.is.whose == nobody }

// made ends an apply that registered, after which nothing known before counts.
func (w world) made() world {
	w.claim, w.overtaken, w.misled = Registered, 0, false
	return w
}

// answerLost ends an apply whose answer was lost.
func (w world) answerLost(c Claim) world {
	w.claim, w.at, w.faulty = c, 0, true
	return w
}

// by returns the world after another object or a console changed the registration.
func (w world) by(another registration) world {
	w.is, w.second = another, true
	return w.snap()
}

func events() []event {
	mine := func(w world, _ kind) bool { return w.mine() }
	empty := func(w world, _ kind) bool { return w.empty() }
	all := []event{
		{
			"create", func(w world, _ kind) bool { return w.claim == 0 || w.claim&(Foreign|Refused|Unconfirmed) != 0 },
			func(w world, p kind) world {
				if w.is.whose != nobody && w.is.whose != us {
					w.claim = Refused // until the cached status shows the owner
					return w
				}
				w = w.register(us, p).made()
				w.lost = false
				return w.looks(p)
			},
		},
		{"create, its answer lost", empty, func(w world, p kind) world { return w.register(us, p).answerLost(Unconfirmed) }},
		{"create, refused, and it takes effect", empty, func(w world, p kind) world { return w.register(us, p).answerLost(Refused) }},
		{"create, the request lost", func(w world, _ kind) bool { return w.claim == 0 }, func(w world, _ kind) world { return w.answerLost(Unconfirmed) }},
		{
			"adopt", func(w world, _ kind) bool { return !w.mine() && w.is.whose != nobody && w.is.whose != us },
			func(w world, p kind) world { return w.register(us, p).made().looks(p) },
		},
		{"change", mine, func(w world, p kind) world { return w.register(us, p).made().looks(p) }},
		{"change, agent silent at the end", mine, func(w world, p kind) world { return w.register(us, p).made().answerLost(Registered) }},
		{"change, killed", mine, func(w world, p kind) world {
			w = w.register(us, p)
			w.faulty = true
			return w
		}},
		{
			"operate", func(w world, _ kind) bool { return w.claim == Registered && w.is.whose != nobody && !w.is.bare },
			func(w world, p kind) world {
				before, _ := w.live(p)
				if p.operationRenews {
					w = w.renewed()
				}
				if before == 0 || before != w.at {
					w.at = 0
					return w
				}
				return w.looks(p)
			},
		},
		{
			"another tool operates", func(w world, p kind) bool { return w.is.whose != nobody && !w.is.bare && p.operationRenews },
			func(w world, _ kind) world {
				w.second = true
				return w.renewed()
			},
		},
		{
			"the agent forgets the time", func(w world, p kind) bool { return p.timed && !w.forgot && w.at != 0 },
			func(w world, _ kind) world {
				w.forgot, w.faulty = true, true
				return w
			},
		},
		{
			"ledger lost", func(w world, _ kind) bool { return w.claim != 0 && !w.lost },
			func(w world, _ kind) world {
				w.at, w.overtaken, w.lost, w.faulty = 0, 0, true, true
				if w.claim == Overtaken {
					w.claim = Registered
				}
				return w
			},
		},
		{
			"another registers", func(w world, _ kind) bool { return w.is.whose != another },
			func(w world, p kind) world {
				w.second = true
				return w.register(another, p)
			},
		},
		{"another unregisters", func(w world, _ kind) bool { return w.is.whose == another }, func(w world, _ kind) world { return w.by(registration{}) }},
		{
			"a console registers", func(w world, _ kind) bool {
				if w.is.whose == nobody {
					return w.claim == 0
				}
				return w.is.whose != another && w.is.named != nobody
			},
			func(w world, p kind) world {
				w.second = true
				return w.register(nobody, p)
			},
		},
		{"a console unregisters", func(w world, _ kind) bool { return w.is.whose != nobody }, func(w world, _ kind) world { return w.by(registration{}) }},
		{
			"a console ends the hosting", func(w world, p kind) bool { return w.is.whose != nobody && !w.is.bare && p.face == ESB },
			func(w world, _ kind) world {
				w.is.bare, w.second = true, true
				return w
			},
		},
	}
	for i := range int8(8) {
		all = append(all, event{
			fmt.Sprintf("refresh %d pictures ago", i), func(w world, _ kind) bool { return i < w.n && w.claim != 0 && !w.lost },
			func(w world, p kind) world { return w.refreshed(w.pictures[w.n-1-i], p) },
		})
	}
	return all
}

// renewed gives the registration the time of an operation.
func (w world) renewed() world {
	w.is.at = w.now
	w.now++
	return w.snap()
}

// refreshed returns the world after a refresh that read file from the cached status.
func (w world) refreshed(file picture, p kind) world {
	live, hosted := w.live(p)
	if file != w.pictures[w.n-1] && (live == 0 || w.kept) {
		w.misled = true
	}
	k := Known{w.claim, int64(w.at), int64(w.overtaken)}
	r := k.Aged(rowOf(file), int64(file.at), int64(live))
	switch w.claim {
	case Registered, Overtaken:
		w.overtaken = int8(k.OvertakenAfter(rowOf(file), int64(file.at), int64(live)))
		w.claim = Registered
		if w.overtaken != 0 {
			w.claim = Overtaken
		}
	case Refused, Unconfirmed, Foreign:
		switch {
		case r == Own && (hosted || p.registersOnly):
			w.claim = Registered
		case r == Others || r == Unlabelled && w.claim != Foreign:
			w.claim = Foreign
		case r == Absent && !hosted && w.claim == Foreign:
			w.claim = Refused
		}
	}
	return w
}

func rowOf(p picture) Row {
	switch {
	case p == picture{}:
		return Absent
	case p.named == us:
		return Own
	case p.named == another:
		return Others
	default:
		return Unlabelled
	}
}

// normal replaces the times by their order, so that worlds which differ in nothing else are equal.
func (w world) normal() world {
	times := []int8{0, w.is.at, w.at, w.overtaken}
	for _, p := range w.pictures[:w.n] {
		times = append(times, p.at)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	rank := func(t int8) int8 { return int8(slices.Index(times, t)) }
	w.is.at, w.at, w.overtaken, w.now = rank(w.is.at), rank(w.at), rank(w.overtaken), int8(len(times))
	for i := range w.n {
		w.pictures[i].at = rank(w.pictures[i].at)
	}
	return w
}

func kinds() []kind {
	var all []kind
	for i := range 16 {
		k := kind{ESB, i&1 != 0, i&2 != 0, i&4 != 0, i&8 != 0}
		all = append(all, k)
		if k.face = Gateway; !k.registersOnly {
			all = append(all, k)
		}
	}
	return all
}

// reachable returns the worlds that up to depth events lead to, each with a shortest sequence of events.
func reachable(p kind, depth int) map[world]string {
	steps := events()
	level := []world{{n: 1, now: 1}}
	ways := map[world]string{level[0]: ""}
	for range depth {
		var next []world
		for _, w := range level {
			for _, e := range steps {
				if !e.can(w, p) {
					continue
				}
				after := e.do(w, p).normal()
				if _, known := ways[after]; !known {
					ways[after] = ways[w] + ", " + e.name
					next = append(next, after)
				}
			}
		}
		level = next
	}
	return ways
}

// asked is everything that can be learned about a machine. first is the row as judged before the agent was asked.
type asked struct {
	Evidence

	first Row
}

// needs is what worlds with the same evidence require of a decision, each with an example.
type needs struct {
	notOurs, ours, ends string // must not be unregistered, must not be forgotten, must be unregistered
	// Must not be unregistered once the row was read.
	notOursByRow string
}

// explored is what all worlds require.
type explored struct {
	needs                  map[asked]*needs
	worlds, pairs, unknown int // unknown: pairs whose evidence cannot show the owner
}

func explore(depth int) *explored {
	all := &explored{needs: make(map[asked]*needs)}
	for _, p := range kinds() {
		ways := reachable(p, depth)
		all.worlds += len(ways)
		for w, way := range ways {
			if w.claim == 0 || w.misled {
				continue
			}
			for file := int8(-2); file < w.n; file++ {
				for _, agent := range []Answer{Idle, Silent, AskFailed, NoSpec} {
					all.add(w, p, file, agent, way)
				}
			}
		}
	}
	return all
}

// add records what world w requires. file is the picture that the cached status shows, -1 if the row cannot be
// placed and -2 if the status cannot be read. agent is Idle for an agent that answers.
func (all *explored) add(w world, p kind, file int8, agent Answer, way string) {
	all.pairs++
	k := Known{w.claim, int64(w.at), int64(w.overtaken)}
	a := asked{Evidence{p.face, w.claim, agent, Failed}, Failed}
	live := int8(0)
	if agent == Idle {
		var hosted bool
		live, hosted = w.live(p)
		a.Answer = k.Compare(int64(live), !hosted)
	}
	switch {
	case file == -1:
		a.Row, a.first = Unplaced, Unplaced
	case file >= 0:
		shown := w.pictures[file]
		a.first = k.Aged(rowOf(shown), int64(shown.at), 0)
		a.Row = k.Aged(rowOf(shown), int64(shown.at), int64(live))
	}
	stale := file >= 0 && file != w.n-1
	// A refusal is believed if the agent cannot be asked: a machine that never existed could not be removed otherwise.
	away := a.Claim == Refused && agent&(Silent|NoSpec) != 0
	if (stale || file == -1) && (w.kept || a.Answer&(Idle|Untimed|NoSpec) != 0) || away && a.Row == Absent {
		all.unknown++
		return
	}
	n := all.needs[a]
	if n == nil {
		n = new(needs)
		all.needs[a] = n
	}
	what := fmt.Sprintf("%+v, picture %d of %d%s", p, file+1, w.n, way)
	note := func(to *string) {
		if *to == "" || len(what) < len(*to) {
			*to = what
		}
	}
	Foreign := w.is.whose != nobody && w.is.whose != us && !w.is.shared
	switch {
	case Foreign && w.kept && w.at == w.is.at:
		note(&n.notOursByRow)
	case Foreign:
		note(&n.notOurs)
	case w.is.whose == us:
		note(&n.ours)
	}
	if !w.second && !w.faulty && agent == Idle && file >= 0 {
		note(&n.ends)
	}
}

// broken describes the evidence for which a table does what a world forbids, or does not do what it requires.
func (all *explored) broken(table []rule) []string {
	var broken []string
	for a, n := range all.needs {
		v, by := decided(table, a)
		read := by.Row != Unread
		for _, f := range []struct {
			fails bool
			why   string
			what  string
		}{
			{v == Ours && n.notOurs != "", "unregisters another's", n.notOurs},
			{v == Ours && read && n.notOursByRow != "", "unregisters another's", n.notOursByRow},
			{(v == Theirs || v == Nobodys) && n.ours != "", "forgets its own", n.ours},
			{v != Ours && n.ends != "", "does not unregister, and there was no other owner", n.ends},
			{v == Hold && a.Answer&(Silent|AskFailed|NoSpec) == 0 && a.Row&(Failed|Unplaced) == 0 && n.notOurs+n.notOursByRow == "", "holds, though all worlds agree", n.ours},
		} {
			if f.fails {
				broken = append(broken, fmt.Sprintf("%s by %+v: %s", f.why, by, f.what))
			}
		}
	}
	slices.Sort(broken)
	return broken
}

// decided returns the verdict of a table once it has all that it asks for, and the evidence that it used.
func decided(table []rule, a asked) (Verdict, Evidence) {
	e := Evidence{a.Face, a.Claim, Unasked, Unread}
	for {
		v, _ := decide(table, e)
		switch {
		case v == AskAgent && e.Answer == Unasked:
			e.Answer = a.Answer
			if e.Row != Unread {
				e.Row = a.Row
			}
		case v == AskRow && e.Row == Unread:
			e.Row = a.first
			if e.Answer != Unasked {
				e.Row = a.Row
			}
		default:
			return v, e
		}
	}
}

// The table is safe in every world that six events lead to. If no one else acted and nothing failed, it unregisters.
func TestRules_worlds(t *testing.T) {
	t.Parallel()
	all := explore(6)
	for _, broken := range all.broken(rules) {
		t.Error(broken)
	}
	t.Logf("%d worlds, %d pairs of world and evidence, %d different evidences; in %d pairs the evidence cannot show the owner",
		all.worlds, all.pairs, len(all.needs), all.unknown)
	for i, r := range rules {
		if r.face == Blind || r.row == Beside || r.then == AskAgent || r.then == AskRow { // every world has labels, and one name for the machine
			continue
		}
		found := false
		for _, wrong := range []Verdict{Ours, Theirs, Hold} {
			table := slices.Clone(rules)
			table[i].then = wrong
			found = found || wrong != r.then && len(all.broken(table)) > 0
		}
		fleettest.Check(t, found, "no world shows that line %d is right: %+v", i, r)
	}
}
