package simulator

import (
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/record"
)

// Calls returns the recorded calls to the faces. A call is recorded when it arrives and completed before
// its answer is sent, so a client that has its answer finds its call complete.
func (s *Server) Calls() record.CallList {
	s.init()
	return s.record.Calls()
}

// ResetCalls deletes the recorded calls and executions, and the largest number in flight.
func (s *Server) ResetCalls() {
	s.init()
	s.record.Reset()
	s.core.ResetExecutions()
}

// MaxInFlight returns the largest number of requests that the faces handled at the same time.
func (s *Server) MaxInFlight() int {
	s.init()
	return s.record.MaxInFlight()
}

// Violations lists everything in requests that no document allows, refused or not, each as "api: path: what
// is wrong". Refused credentials are not violations.
func (s *Server) Violations() []string {
	s.init()
	return s.record.Violations()
}

// ResetViolations deletes the violations, for tests that cause some.
func (s *Server) ResetViolations() {
	s.init()
	s.record.ResetViolations()
}

// Inject adds a fault and returns its number. It panics on an invalid fault, because faults are constants in
// tests. Faults apply in the order they were injected; if two answer the same request, the first one does.
func (s *Server) Inject(f fault.Fault) int {
	s.init()
	id, err := s.faults.Inject(f)
	if err != nil {
		panic("simulator: fault: " + err.Error())
	}
	return id
}

// ClearFaults removes every fault. Effects that a task already has stay. A first generation call, which has no
// task, starts afresh.
func (s *Server) ClearFaults() {
	s.init()
	s.faults.Clear()
	s.core.ForgetRepeats()
}

// ClearFault removes one fault by its number, if it is still there.
func (s *Server) ClearFault(id int) {
	s.init()
	s.faults.Remove(id)
}
