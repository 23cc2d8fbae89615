package hostedprocess

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// note is a reason, of those that have a warning, why a host left state otherwise than by being unregistered as
// asked.
type note int

const (
	anothers  note = iota // another object owns the registration
	besides               // another object owns one by the machine's other name
	unowned               // the registration names no owner
	lapsed                // another object's registration is gone
	unstopped             // it was unregistered without being stopped or killed
	elsewhere             // nothing ran by the declaration in state, but another one was registered
	unseen                // a request whose answer or task id is lost may still register it
	forgotten             // its agent does not answer
)

// notes are the warnings, in their order. %[1]s is the process, %[2]s is how many hosts out of how many.
var notes = []struct {
	of            note
	summary, text string
}{
	{anothers, "Hosts Belong To Another Resource", "%[1]s was registered on %[2]s by another resource after this one: a replacement that was " +
		"created first, a resource that was renamed without a moved block, or another configuration. It was left as it is there, hosted and running, " +
		"and is no longer managed by this one."},
	{besides, "Machines Belong To Another Resource", "%[1]s was registered on %[2]s by another resource after this one, by another name of the " +
		"machine: its agent id or its address. The agent hosts one process, and would stop hosting it if this resource's registration were removed. So it was left " +
		"as it is there, hosted and running, and is no longer managed by this resource, whose own registration stays."},
	{unowned, "Hosts Registered Without An Owner", "%[1]s is registered on %[2]s by something that names no owner, such as a console or a start by bk_process_operation. That registration may not be this " +
		"resource's any more, or may never have been. So it was left as it is, and is no longer managed by this resource."},
	{lapsed, "Hosts Last Registered By Another Resource", "%[1]s was registered on %[2]s by another resource after this one, and the platform does not show it there now. " +
		"Nothing of this resource's was left to unregister, and nothing was stopped or killed: what may still run there was the other one's."},
	{unstopped, "Processes Not Stopped", "%[1]s was to be stopped or killed on %[2]s, where the platform does not show it. What this resource had kept " +
		"to tell its own process from another resource's is lost, as it is when a tainted one is replaced, so what may run there was left running. " +
		"Check whether it should keep running, and stop it there if not."},
	{elsewhere, "Processes May Run On", "%[1]s was to be stopped or killed on %[2]s, where it was registered with another declaration than the one in state. By the one in " +
		"state nothing runs there. A process that was started with other paths has not been stopped. Check whether one runs, and stop it there if it should not."},
	{unseen, "Registration May Come Yet", "%[1]s was sent to be registered on %[2]s, and how that ended was not seen. Their agents do not host it " +
		"now, so there was nothing to unregister. The platform cannot be asked for the end: the answer was lost, or what this resource had kept of it, as when a " +
		"tainted one is replaced. If the platform is only late, the process will be hosted there as this resource declared it. If it is replaced, " +
		"that is over what its replacement registers, and the next plans will show it. If not, check these hosts later: no resource manages them."},
	{forgotten, "Unreachable Hosts Forgotten", "%[1]s could not be unregistered on %[2]s, whose agents do not answer, and " +
		"forget_unreachable is set: they are no longer in state. If one of these machines comes back, its agent still hosts the process, and no " +
		"resource manages it."},
}

// left returns the outcome of a host to which nothing was done.
func left(why string) fleet.Outcome { return fleet.Outcome{Verdict: fleet.NotTried, Meaning: why} }

// note adds a host to a warning.
func (l departure) note(as note, host fleet.Host, o fleet.Outcome) {
	if l.noted[as] == nil {
		l.noted[as] = make(fleet.Results)
	}
	l.noted[as][host] = o
}

// warnings returns the warnings, which name the noted hosts.
func (l departure) warnings() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, n := range notes {
		if rows := l.noted[n.of]; len(rows) > 0 {
			text := fmt.Sprintf(n.text, l.Title, diagnose.CountHosts(len(rows), l.Hosts.Len()))
			diags.AddWarning(n.summary, text+"\n\n"+diagnose.RowsInFull(l.Hosts, rows))
		}
	}
	return diags
}
