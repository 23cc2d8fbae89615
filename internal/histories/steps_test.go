package histories

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

type declaration struct {
	Forms     map[int]string // by machine
	Rekeyed   map[int]bool
	Doubled   map[int]bool // declared under both names, which is a mistake
	Start     string
	Label     string
	Ensure    string
	OnDestroy string
	Waves     int
	Adopt     bool
}

func newDeclaration() declaration {
	return declaration{
		Forms: make(map[int]string), Rekeyed: make(map[int]bool), Doubled: make(map[int]bool),
		Start: "./a.sh", Label: "one", Ensure: "hosted", OnDestroy: "unregister",
	}
}

func (d *declaration) has(machine int) bool {
	if d == nil {
		return false
	}
	_, is := d.Forms[machine]
	return is
}

func (d *declaration) copied() *declaration {
	c := *d
	c.Forms, c.Rekeyed, c.Doubled = maps.Clone(d.Forms), maps.Clone(d.Rekeyed), maps.Clone(d.Doubled)
	return &c
}

func address(machine int) string { return fmt.Sprintf("0:10.0.0.%d", machine) }

func agentID(machine int) string { return fmt.Sprintf("0200000007525400f355781710390005%04x", machine) }

const ownSupplier = 2

func nameOf(machine int, form string) string {
	switch form {
	case ByAgent:
		return agentID(machine)
	case BySupplier:
		return fmt.Sprintf("0:%d:10.0.0.%d", ownSupplier, machine)
	default:
		return address(machine)
	}
}

// nameOnFile is the name under which the platform keeps a machine whose name has the given form.
func nameOnFile(machine int, form string) string {
	if form == ByAgent {
		return agentID(machine)
	}
	return address(machine)
}

func machineOf(name string) int {
	var n int
	if strings.Contains(name, ":") {
		_, _ = fmt.Sscan(name[strings.LastIndexByte(name, '.')+1:], &n)
		return n
	}
	_, _ = fmt.Sscanf(name[len(name)-4:], "%x", &n)
	return n
}

func (d *declaration) hosts() map[string]string {
	hosts := make(map[string]string)
	for machine, form := range d.Forms {
		key := fmt.Sprintf("web-%d", machine)
		if d.Rekeyed[machine] {
			key = fmt.Sprintf("www-%d", machine)
		}
		hosts[key] = nameOf(machine, form)
		if d.Doubled[machine] {
			hosts["also-"+key] = nameOf(machine, otherForm(form))
		}
	}
	return hosts
}

func (d *declaration) meta() map[string]any {
	return map[string]any{"namespace": namespace, "name": process, "labels": map[string]string{"team": d.Label}}
}

func (d *declaration) hosted() map[string]any {
	config := map[string]any{
		"meta": d.meta(), "hosts": d.hosts(), "spec": providertest.WholeSpec(d.Start), "ensure": d.Ensure, "on_destroy": d.OnDestroy,
		"adopt_existing": d.Adopt, "on_partial_create": "warn",
	}
	if d.Waves > 0 {
		config["rollout"] = map[string]any{"batch_size": d.Waves}
	}
	return config
}

func otherForm(form string) string {
	if form == ByAgent {
		return ByAddress
	}
	return ByAgent
}

func (w *world) do(s Step) {
	before := w.look(bystander)
	switch s.Do {
	case Join, Leave, Rename, Rekey, Double, Single, SetSpec, SetLabel, SetEnsure, SetOnDestroy, SetWaves, SetAdopt:
		w.configs[s.On].change(s, w.gateway())
	case SetDefault, SetSupplier, SetGateway, SetTrigger:
		w.set(s)
	case Apply:
		w.apply(w.configs[s.On], s)
	case Destroy:
		w.destroy(w.configs[s.On], s)
	case Refresh:
		w.refresh(w.configs[s.On])
	case Taint:
		o := w.configs[s.On].object
		o.kept.Tainted = o.exists()
	case Recreate:
		w.recreate(w.configs[s.On], s)
	case Import:
		w.imports(w.configs[s.On])
	case Operate:
		w.operate(s)
	default:
		w.others(s)
		return
	}
	if after := w.look(bystander); fmt.Sprint(before) != fmt.Sprint(after) {
		w.fail(&Breach{Invariant: LeavesOthersAlone, Kind: "bystander", Text: fmt.Sprintf("before: %v\nafter: %v", before, after)})
	}
}

func (c *config) change(s Step, gateway providertest.Face) {
	d := &c.want
	form := s.To
	if gateway == providertest.FaceESB && form == ByAgent {
		form = ByAddress
	}
	each := func(do func(machine int)) {
		for _, machine := range s.Hosts {
			do(machine)
		}
	}
	switch s.Do {
	case Join, Rename:
		each(func(machine int) {
			if d.has(machine) == (s.Do == Rename) {
				d.Forms[machine] = form
			}
		})
	case Leave:
		each(func(machine int) { delete(d.Forms, machine) })
	case Rekey:
		each(func(machine int) { d.Rekeyed[machine] = !d.Rekeyed[machine] })
	case Double:
		each(func(machine int) { d.Doubled[machine] = gateway == providertest.FaceGateway })
	case Single:
		clear(d.Doubled)
	case SetSpec:
		d.Start = s.To
	case SetLabel:
		d.Label = s.To
	case SetEnsure:
		d.Ensure = s.To
	case SetOnDestroy:
		d.OnDestroy = s.To
	case SetWaves:
		d.Waves = s.Times
	case SetAdopt:
		d.Adopt = s.To == "true"
	default:
	}
}

func (w *world) gateway() providertest.Face {
	name, _ := w.settings["gateway"].(string)
	return providertest.Face(name)
}

func (w *world) set(s Step) {
	switch s.Do {
	case SetDefault:
		w.labels = map[string]string{"site": s.To}
	case SetSupplier:
		var supplier int
		_, _ = fmt.Sscan(s.To, &supplier)
		w.settings["bk_supplier_id"] = supplier
	case SetTrigger:
		w.op.trigger = s.To
	case SetGateway:
		w.settings["gateway"] = s.To
		for _, c := range w.configs {
			for machine, form := range maps.Clone(c.want.Forms) {
				if w.gateway() != providertest.FaceESB {
					continue
				}
				delete(c.want.Doubled, machine)
				if form == ByAgent { // which the ESB does not support
					c.want.Forms[machine] = ByAddress
				}
			}
		}
	default:
	}
}

// others plays what happens outside of Terraform.
func (w *world) others(s Step) {
	for _, machine := range s.Hosts {
		switch s.Do {
		case Console:
			w.act(s.To, machine)
		case Upgrade:
			w.fine(w.sim.UpgradeToAgentID(agentID(machine), address(machine)))
			w.upgraded[machine] = true
		case Unreachable, Reachable:
			w.sim.SetReachable(address(machine), s.Do == Reachable)
		default:
		}
	}
	switch s.Do {
	case Inject:
		w.faulty = true
		for _, fault := range faults[s.To] {
			fault.Times = s.Times
			if passing[s.To] {
				fault.Times = max(s.Times, 1)
			}
			for _, machine := range s.Hosts {
				fault.Hosts = append(fault.Hosts, address(machine))
			}
			w.sim.Inject(fault)
		}
	case Repair:
		w.repair()
	case SetLag:
		w.sim.SetLag(s.Times)
		w.unsteady, w.stale = w.unsteady || s.Times > 0, true // what the earlier lag delayed is still to come
	case Freeze:
		w.sim.FreezeStatus()
		w.stale = true
	case RowLabels:
		w.sim.SetRowLabels(map[string]string{"bk_platform": "1"})
	case Supervise:
		w.sim.Tick()
	default:
	}
}

func (w *world) repair() {
	w.sim.ClearFaults()
	w.faulty = false
}

func (w *world) act(act string, machine int) {
	name := w.nameFound(machine)
	objects := w.objectsOn(machine)
	before, inDoubt := w.look(process)[machine], w.inDoubt(machine)
	switch act {
	case actStart:
		_ = w.sim.StartProcess(name, namespace, process)
	case actStop:
		_ = w.sim.StopProcess(name, namespace, process)
	case actKill:
		_ = w.sim.KillProcess(name, namespace, process)
	case actHost:
		w.fine(w.sim.Host(name, namespace, process))
	case actUnhost:
		w.fine(w.sim.Unhost(name, namespace, process))
	case actUnregister:
		w.fine(w.sim.Unregister(name, namespace, process))
	case actRegister:
		w.fine(w.sim.Register(name, namespace, process, map[string]string{"team": "console"}, consoleSpec))
		w.fine(w.sim.Host(name, namespace, process))
	}
	w.model.acted(act, machine, before, w.look(process)[machine], objects, inDoubt)
}

const consoleSpec = `{"identity":{"proc_name":"nginx","setup_path":"/srv/web","pid_path":"/srv/web/nginx.pid","user":"root"},` +
	`"control":{"start_cmd":"./console.sh"},"resource":{"cpu":30,"mem":10},"monitor_policy":{"auto_type":1}}`

// History is what happens to a few machines, from the first registration on. It is data: every replay has the same events.
type History struct {
	// Machines are numbered from 1. Each has an address and an agent id.
	Machines int
	// EntryPerName: the platform keeps an entry for each name of a machine.
	EntryPerName bool
	// SuppliersApart: a process is unregistered only under the supplier id under which it was registered.
	SuppliersApart bool
	// Verify: the declaration is compared with what the agents' files say they host, if they can be read.
	Verify bool
	// KeepsTime are the calls after which an agent still reports the earlier registration time.
	KeepsTime KeepsTime
	Switches  Switches
	Steps     []Step
}

// Switches are other switches of the simulator.
type Switches struct {
	AgentsWithoutTimes, HostingOnce, HostingStarts, RegisterHosts, RestartKeepsHosting, RowsWithoutAgentID, RowsWithoutHost, StartReplaces, UpdateRefuses bool
}

// KeepsTime are calls about a process that is already registered.
type KeepsTime struct{ Reregistering, Starting, Hosting bool }

// Step is one event. It is valid after any other: an event that makes no sense at that point changes nothing, so dropping
// steps leaves a valid history.
type Step struct {
	Do    Action
	On    string // the configuration, A or B
	Hosts []int  // the machines
	To    string // a value, a form of a name, a fault, an act at the console
	Times int    // for a fault: the number of matches, 0 for all until it is repaired
	// Cut ends an apply at its call of that number, before the platform carries it out or, if Late, before its answer arrives.
	Cut  int
	Late bool
	// Killed: Cut counts calls that change something, and nothing is saved of an update or a destroy that ends so, as if
	// Terraform and the provider were killed.
	Killed bool
	// Blind is -refresh=false.
	Blind bool
	// Planned: a plan precedes the apply. If that is empty, the apply must change nothing.
	Planned bool
}

type Action string

const (
	// Changes of a configuration, which do nothing until it is applied.
	Join         Action = "join"          // hosts, To the form of their names
	Leave        Action = "leave"         // hosts
	Rename       Action = "rename"        // hosts, To the form of their names
	Rekey        Action = "rekey"         // hosts
	Double       Action = "double"        // hosts, declared under their other name as well
	Single       Action = "single"        // no host is declared twice any more
	SetSpec      Action = "spec"          // To a start command
	SetLabel     Action = "label"         // To a value of a label of the process
	SetEnsure    Action = "ensure"        // To a value
	SetOnDestroy Action = "on_destroy"    // To a value
	SetWaves     Action = "waves"         // Times the size
	SetAdopt     Action = "adopt"         // To "true" or "false"
	SetDefault   Action = "default_label" // To a value of a label of every process
	SetSupplier  Action = "supplier"      // To a supplier id of the provider
	SetGateway   Action = "gateway"       // To a gateway
	SetTrigger   Action = "trigger"       // To a trigger of the operation

	// What is run.
	Apply    Action = "apply"
	Destroy  Action = "destroy"
	Refresh  Action = "refresh"
	Taint    Action = "taint"
	Recreate Action = "recreate" // create_before_destroy
	Import   Action = "import"   // what was declared last, after terraform state rm
	Operate  Action = "operate"  // To the operation, on the hosts of A

	// What others do, and what goes wrong.
	Console     Action = "console"     // hosts, To an act
	Upgrade     Action = "upgrade"     // hosts, to their agent ids
	Inject      Action = "fault"       // hosts, To a fault, Times
	Repair      Action = "repair"      // every fault
	SetLag      Action = "lag"         // Times the answers for which the file lags, -1 for ever
	Freeze      Action = "freeze"      // the file stays what it is
	RowLabels   Action = "row-labels"  // the platform adds labels by itself
	Unreachable Action = "unreachable" // hosts
	Reachable   Action = "reachable"   // hosts
	Supervise   Action = "supervise"   // agents revive what died
)

const (
	A = "a"
	B = "b"
)

const (
	ByAddress  = "address"
	BySupplier = "supplier" // an address with a supplier id
	ByAgent    = "agent"
)

func (s Step) String() string {
	words := []string{string(s.Do)}
	if s.On != "" {
		words = append(words, s.On)
	}
	if s.To != "" {
		words = append(words, s.To)
	}
	if len(s.Hosts) > 0 {
		words = append(words, fmt.Sprintf("on %v", s.Hosts))
	}
	if s.Times != 0 {
		words = append(words, fmt.Sprintf("%d times", s.Times))
	}
	if s.Blind {
		words = append(words, "-refresh=false")
	}
	if s.Planned {
		words = append(words, "after a plan")
	}
	if s.Cut > 0 {
		form, when := "interrupted %s call %d", "before"
		if s.Killed {
			form = "killed %s change %d"
		}
		if s.Late {
			when = "after"
		}
		words = append(words, fmt.Sprintf(form, when, s.Cut))
	}
	return strings.Join(words, " ")
}

var stepForm = regexp.MustCompile(`^(\S+)(?: (a|b))?(?: ([^\s-]\S*))?(?: on \[([\d ]+)\])?(?: (-?\d+) times)?( -refresh=false)?( after a plan)?(?: (interrupted|killed) (before|after) (?:call|change) (\d+))?$`)

func stepOf(line string) (Step, error) {
	part := stepForm.FindStringSubmatch(line)
	if part == nil {
		return Step{}, fmt.Errorf("%q is no step", line)
	}
	s := Step{Do: Action(part[1]), On: part[2], To: part[3], Blind: part[6] != "", Planned: part[7] != "", Killed: part[8] == "killed", Late: part[9] == "after"}
	s.Times, _ = strconv.Atoi(part[5])
	s.Cut, _ = strconv.Atoi(part[10])
	for machine := range strings.FieldsSeq(part[4]) {
		n, _ := strconv.Atoi(machine)
		s.Hosts = append(s.Hosts, n)
	}
	return s, nil
}

// traitsOf are the properties that a history's platform may have, as in its first line.
func traitsOf(h *History) []trait {
	return append([]trait{
		{"an entry per name", &h.EntryPerName}, {"suppliers apart", &h.SuppliersApart}, {"verify", &h.Verify},
		{"registering keeps the time", &h.KeepsTime.Reregistering}, {"starting keeps the time", &h.KeepsTime.Starting},
		{"hosting keeps the time", &h.KeepsTime.Hosting},
	}, switchesOf(h)...)
}

// switchesOf are the traits that have the name of a switch.
func switchesOf(h *History) []trait {
	s := &h.Switches
	return []trait{
		{"agents-without-times", &s.AgentsWithoutTimes}, {"hosting-once", &s.HostingOnce}, {"hosting-starts", &s.HostingStarts},
		{"register-hosts", &s.RegisterHosts}, {"restart-keeps-hosting", &s.RestartKeepsHosting}, {"rows-without-agent-id", &s.RowsWithoutAgentID},
		{"rows-without-host", &s.RowsWithoutHost}, {"start-replaces", &s.StartReplaces}, {"update-refuses", &s.UpdateRefuses},
	}
}

type trait struct {
	name string
	has  *bool
}

func (h History) String() string {
	text := fmt.Sprintf("machines: %d", h.Machines)
	for _, trait := range traitsOf(&h) {
		if *trait.has {
			text += ", " + trait.name
		}
	}
	for _, step := range h.Steps {
		text += "\n" + step.String()
	}
	return text + "\n"
}

func historyOf(lines []string) (History, error) {
	var h History
	_, _ = fmt.Sscanf(lines[0], "machines: %d", &h.Machines)
	for _, trait := range traitsOf(&h) {
		*trait.has = strings.Contains(lines[0], trait.name)
	}
	var errs []error
	for _, line := range lines[1:] {
		step, err := stepOf(line)
		h.Steps, errs = append(h.Steps, step), append(errs, err)
	}
	if first, _, _ := strings.Cut(h.String(), "\n"); first != lines[0] {
		errs = append(errs, fmt.Errorf("%q is read as %q", lines[0], first))
	}
	return h, errors.Join(errs...)
}
