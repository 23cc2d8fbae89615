package histories

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// History is what happens to a few machines, from their first registration on. It is
// data: played twice, the same happens twice.
type History struct {
	// Machines are numbered from 1. Each has an address and an agent id.
	Machines int
	// EntryPerName: the platform keeps an entry for each name of a machine.
	EntryPerName bool
	// SuppliersApart: a process is unregistered only under the supplier id under which it was registered.
	SuppliersApart bool
	// Verify: what agents really host is compared, where they can be asked for it.
	Verify bool
	// KeepsTime are the calls after which an agent still reports the earlier registration time.
	KeepsTime KeepsTime
	Steps     []Step
}

// KeepsTime are calls about a process that is registered already.
type KeepsTime struct{ Reregistering, Starting, Hosting bool }

// Step is one thing that happens. Whatever came before it, it can happen: what makes no
// sense there changes nothing, so that a history stays one when steps are dropped.
type Step struct {
	Do    Action
	On    string // the configuration, A or B
	Hosts []int  // the machines
	To    string // a value, a form of a name, a fault, an act at the console
	Times int    // of a fault: so many matches, 0 for all until it is repaired
	// Cut ends an apply at its call of that number, before the platform carries it out or, if Late,
	// before its answer arrives.
	Cut  int
	Late bool
	// Blind is -refresh=false.
	Blind bool
	// Planned: a plan comes before it, which holds the apply to its word.
	Planned bool
}

// Action is a kind of step.
type Action string

const (
	// Changes of a configuration, which do nothing until it is applied.
	Join         Action = "join"          // hosts, To the form of their names
	Leave        Action = "leave"         // hosts
	Rename       Action = "rename"        // hosts, To the form of their names
	Rekey        Action = "rekey"         // hosts
	Double       Action = "double"        // hosts, which stand there by their other name as well
	Single       Action = "single"        // none does any more
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
	switch {
	case s.Cut > 0 && s.Late:
		words = append(words, fmt.Sprintf("cut off after call %d", s.Cut))
	case s.Cut > 0:
		words = append(words, fmt.Sprintf("cut off before call %d", s.Cut))
	}
	return strings.Join(words, " ")
}

var stepForm = regexp.MustCompile(`^(\S+)(?: (a|b))?(?: ([^\s-]\S*))?(?: on \[([\d ]+)\])?(?: (-?\d+) times)?( -refresh=false)?( after a plan)?(?: cut off (before|after) call (\d+))?$`)

func stepOf(line string) (Step, error) {
	part := stepForm.FindStringSubmatch(line)
	if part == nil {
		return Step{}, fmt.Errorf("%q is no step", line)
	}
	s := Step{Do: Action(part[1]), On: part[2], To: part[3], Blind: part[6] != "", Planned: part[7] != "", Late: part[8] == "after"}
	s.Times, _ = strconv.Atoi(part[5])
	s.Cut, _ = strconv.Atoi(part[9])
	for machine := range strings.FieldsSeq(part[4]) {
		n, _ := strconv.Atoi(machine)
		s.Hosts = append(s.Hosts, n)
	}
	return s, nil
}

// traitsOf are what a history may have of its platform, as its first line names them.
func traitsOf(h *History) []trait {
	return []trait{
		{"an entry per name", &h.EntryPerName}, {"suppliers apart", &h.SuppliersApart}, {"verify", &h.Verify},
		{"registering keeps the time", &h.KeepsTime.Reregistering}, {"starting keeps the time", &h.KeepsTime.Starting},
		{"hosting keeps the time", &h.KeepsTime.Hosting},
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
