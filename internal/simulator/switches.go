package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// switches are the permanent differences between platforms, by the names that With accepts. Temporary ones
// are faults.
var switches = map[string]func(*Server){
	"admit-agents":             func(s *Server) { s.AdmitAgents = true },
	"agents-without-times":     func(s *Server) { s.AgentsWithoutTimes = true },
	"entry-per-name":           func(s *Server) { s.EntryPerName = true },
	"expired-empty":            func(s *Server) { s.ExpiredEmpty = true },
	"hosting-keeps-time":       func(s *Server) { s.HostingKeepsTime = true },
	"hosting-once":             func(s *Server) { s.HostingOnce = true },
	"hosting-silent":           func(s *Server) { s.HostingSilent = true },
	"hosting-starts":           func(s *Server) { s.HostingStarts = true },
	"job-removed":              func(s *Server) { s.JobRemoved = true },
	"manage-proc-bug":          func(s *Server) { s.ManageProcBug = true },
	"old-cmdb":                 func(s *Server) { s.OldCMDB = true },
	"register-hosts":           func(s *Server) { s.RegisterHosts = true },
	"reregistering-keeps-time": func(s *Server) { s.ReregisteringKeepsTime = true },
	"restart-keeps-hosting":    func(s *Server) { s.RestartKeepsHosting = true },
	"rows-without-agent-id":    func(s *Server) { s.RowsWithoutAgentID = true },
	"rows-without-host":        func(s *Server) { s.RowsWithoutHost = true },
	"start-replaces":           func(s *Server) { s.StartReplaces = true },
	"starting-keeps-time":      func(s *Server) { s.StartingKeepsTime = true },
	"suppliers-apart":          func(s *Server) { s.SuppliersApart = true },
	"unverified-status-400":    func(s *Server) { s.UnverifiedStatus400 = true },
	"update-refuses":           func(s *Server) { s.UpdateRefuses = true },
}

// Switches returns the names that With accepts, in alphabetical order.
func Switches() []string { return slices.Sorted(maps.Keys(switches)) }

// With sets the fields of these switches. Call it before the first request.
func (s *Server) With(names ...string) error {
	for _, name := range names {
		turnOn, known := switches[name]
		if !known {
			return fmt.Errorf("%q is not one of %s", name, strings.Join(Switches(), ", "))
		}
		turnOn(s)
	}
	return nil
}
