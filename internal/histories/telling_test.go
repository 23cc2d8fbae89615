package histories

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// seen is what was seen of a machine.
func (u unit) seen(machine int) string {
	return seen(u.before[machine], u.after[machine], u.done[machine], u.said)
}

func seen(before, after Truth, done []simulator.Execution, said string) string {
	return fmt.Sprintf("before: %s\nafter:  %s\ndone:   %s\nsaid:   %s", told(before), told(after), toldDone(done), strings.TrimSpace(said))
}

// told is a truth as one line.
func told(is Truth) string {
	words := []string{"not hosted", "not running"}
	if is.Hosted {
		words[0] = "hosted"
	}
	if is.Running {
		words[1] = fmt.Sprintf("running (pid %d)", is.PID)
	}
	for _, e := range is.Entries {
		_, start, _ := strings.Cut(e.Spec, `"start_cmd":`)
		start, _, _ = strings.Cut(start, ",")
		words = append(words, fmt.Sprintf("entry %s: %s %v", e.Host, start, e.Labels))
	}
	return strings.Join(words, ", ")
}

func toldDone(done []simulator.Execution) string {
	words := make([]string, len(done))
	for i, e := range done {
		words[i] = fmt.Sprintf("%s %s (%d)", e.Action, e.Host, e.Code)
	}
	return strings.Join(words, ", ")
}

func (c claim) String() string {
	words := []string{cmp.Or(c.owner, "nobody") + "'s"}
	if c.lapsed != "" {
		words = append(words, "once "+c.lapsed+"'s")
	}
	if c.unsure {
		words = append(words, "perhaps")
	}
	return strings.Join(words, ", ")
}
