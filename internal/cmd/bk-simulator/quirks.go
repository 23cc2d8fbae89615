package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func (o *options) addQuirks(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if err := (&simulator.Server{}).With(strings.TrimSpace(name)); err != nil {
			return err
		}
		o.quirks = append(o.quirks, strings.TrimSpace(name))
	}
	return nil
}

func (o *options) readPlatform(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	o.platform, err = belief.ParseProfile(file, text)
	return err
}

// labelAdded is the label in rows of a platform that adds labels. Profiles do not say which ones it adds.
const labelAdded = "added_by_platform"

// behave makes the simulator behave as the flags and the profile say.
func (o *options) behave(sim *simulator.Server) error {
	if err := sim.With(append(o.platform.Switches(), o.quirks...)...); err != nil {
		return err
	}
	sim.RowLabels = maps.Clone(o.rowLabels)
	if o.platform.Value("labels-added") == belief.Yes && len(sim.RowLabels) == 0 {
		sim.RowLabels = map[string]string{labelAdded: "1"}
	}
	sim.Lag, _ = time.ParseDuration(o.platform.Value("status-lag"))
	return nil
}

// simulated are the assumptions that the simulator can follow besides the switches.
var simulated = []string{"labels-added", "status-lag"}

// apart names the values of a profile that are not simulated, and those that the profile lacks.
func apart(platform belief.Profile) string {
	if platform.Answers == nil {
		return ""
	}
	var cannot, unknown []string
	for _, b := range belief.All() {
		value := platform.Value(b.ID)
		switch {
		case b.Settled == belief.SettledByNothing:
		case value == belief.Unknown:
			unknown = append(unknown, b.ID)
		case !b.Switch && !b.As(value) && !slices.Contains(simulated, b.ID):
			cannot = append(cannot, b.ID+" = "+value)
		}
	}
	var text strings.Builder
	if len(cannot) > 0 {
		fmt.Fprintf(&text, "Of this platform, not simulated: %s.\n", strings.Join(cannot, ", "))
	}
	if len(unknown) > 0 {
		fmt.Fprintf(&text, "Not in the profile, so simulated as the provider believes: %s.\n", strings.Join(unknown, ", "))
	}
	return text.String()
}

// quirkHelp returns the table of switches for -h.
func quirkHelp() string {
	var text strings.Builder
	text.WriteString("\nSwitches of -with, and what holds without each:\n")
	for _, name := range simulator.Switches() {
		holds := "Agent ids are declared one by one."
		if b, ok := belief.Find(name); ok {
			holds = b.Holds.English
		}
		fmt.Fprintf(&text, "  %-25s %s\n", name, strings.ReplaceAll(holds, "`", ""))
	}
	return text.String()
}
