package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// quirks are the ways in which platforms differ for good, by the name that -with
// takes. What comes and goes is a fault, at the control endpoint.
var quirks = map[string]func(*simulator.Server){
	"admit-agents":             func(s *simulator.Server) { s.AdmitAgents = true },
	"entry-per-name":           func(s *simulator.Server) { s.EntryPerName = true },
	"expired-empty":            func(s *simulator.Server) { s.ExpiredEmpty = true },
	"hosting-keeps-time":       func(s *simulator.Server) { s.HostingKeepsTime = true },
	"hosting-once":             func(s *simulator.Server) { s.HostingOnce = true },
	"hosting-silent":           func(s *simulator.Server) { s.HostingSilent = true },
	"hosting-starts":           func(s *simulator.Server) { s.HostingStarts = true },
	"job-removed":              func(s *simulator.Server) { s.JobRemoved = true },
	"manage-proc-bug":          func(s *simulator.Server) { s.ManageProcBug = true },
	"old-cmdb":                 func(s *simulator.Server) { s.OldCMDB = true },
	"register-hosts":           func(s *simulator.Server) { s.RegisterHosts = true },
	"reregistering-keeps-time": func(s *simulator.Server) { s.ReregisteringKeepsTime = true },
	"restart-keeps-hosting":    func(s *simulator.Server) { s.RestartKeepsHosting = true },
	"rows-without-agent-id":    func(s *simulator.Server) { s.RowsWithoutAgentID = true },
	"rows-without-host":        func(s *simulator.Server) { s.RowsWithoutHost = true },
	"start-replaces":           func(s *simulator.Server) { s.StartReplaces = true },
	"starting-keeps-time":      func(s *simulator.Server) { s.StartingKeepsTime = true },
	"suppliers-apart":          func(s *simulator.Server) { s.SuppliersApart = true },
	"unverified-status-400":    func(s *simulator.Server) { s.UnverifiedStatus400 = true },
	"update-refuses":           func(s *simulator.Server) { s.UpdateRefuses = true },
}

func quirkNames() string { return strings.Join(slices.Sorted(maps.Keys(quirks)), ", ") }

func (o *options) addQuirks(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		quirk, known := quirks[strings.TrimSpace(name)]
		if !known {
			return fmt.Errorf("%q is not one of %s", name, quirkNames())
		}
		o.quirks = append(o.quirks, quirk)
	}
	return nil
}
