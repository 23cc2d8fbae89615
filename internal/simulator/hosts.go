package simulator

import (
	"net/netip"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
)

// must panics on an error about a value that is a constant in tests.
func must(err error) {
	if err != nil {
		panic("simulator: " + err.Error())
	}
}

// AddHost declares hosts, each "cloud:ip", "cloud:supplier:ip" or an agent id (16 to 64 characters without
// colon or white space). It panics on anything else, because addresses are constants in tests.
func (s *Server) AddHost(addrs ...string) {
	s.init()
	must(s.core.AddHost(addrs...))
}

// AddAgent declares a host that has an agent id and an address: changes under one name are visible under
// the other. With EntryPerName each name has a registration of its own. Without AddAgent, an agent id is
// another host. Call it before the first request, because it does not merge what exists. It panics on an
// invalid agent id or address.
func (s *Server) AddAgent(agentID, addr string) {
	s.init()
	must(s.core.AddAgent(agentID, addr))
}

// UpgradeToAgentID does what upgrade_to_agent_id by another user does for one host. With the address in place
// of the agent id, it undoes that.
func (s *Server) UpgradeToAgentID(agentID, addr string) error {
	s.begin()
	return s.core.UpgradeToAgentID(agentID, addr)
}

// Admit declares every address in prefix, in any cloud area. It takes no memory for each host, so a prefix
// may contain tens of thousands.
func (s *Server) Admit(prefix netip.Prefix) {
	s.init()
	s.core.Admit(prefix)
}

// SetReachable disconnects or reconnects a host's agent. While it is disconnected, every operation returns
// 117 and does nothing, and the cached status keeps its old row. SetReachable declares an unknown host, and
// panics on an invalid address.
func (s *Server) SetReachable(addr string, reachable bool) {
	s.init()
	must(s.core.SetReachable(addr, reachable))
}

// Process returns one process, and false if there is no data about it under this name of its host.
func (s *Server) Process(addr, namespace, name string) (core.Process, bool) {
	s.begin()
	return s.core.Process(addr, namespace, name)
}

// Processes returns all processes, ordered by namespace, name and host.
func (s *Server) Processes() []core.Process {
	s.begin()
	return s.core.Processes()
}

// Machines returns the real state of every machine, under all its names and whatever the platform
// reports, ordered by host. Operations are those since [Server.ResetCalls].
func (s *Server) Machines() []Machine {
	s.begin()
	return s.core.Machines()
}

// Machine returns the real state of one machine, by any of its names.
func (s *Server) Machine(addr string) Machine {
	s.begin()
	return s.core.Machine(addr)
}

// ProcFile returns the file in which the agent of a host keeps what it hosts, with its secrets, or "" if
// there is none. It panics on an invalid address.
func (s *Server) ProcFile(addr string) string {
	s.begin()
	text, err := s.core.ProcFile(addr)
	must(err)
	return text
}

// SetProcFile gives the file of a host's agent an unusual form, or with the zero value the usual one. It
// panics on an invalid address and on a form that is not in [OddFiles].
func (s *Server) SetProcFile(addr string, file ProcFile) {
	s.init()
	must(s.core.SetProcFile(addr, file))
}

// EditProc changes fields of an entry of the file by hand, such as "stopCmd"; nil removes one. The next
// operation that writes the entry (register, host, start or restart) undoes the change.
func (s *Server) EditProc(addr, namespace, name string, fields map[string]any) error {
	s.begin()
	return s.core.EditProc(addr, namespace, name, fields)
}

// AddProc adds an entry, a JSON object, to the file by hand. The platform does not know it. Op 4 for its
// namespace and name removes it, and so does [Server.Unhost].
func (s *Server) AddProc(addr, entry string) error {
	s.begin()
	return s.core.AddProc(addr, entry)
}

// Executions returns the recorded executions, oldest first. [Server.ResetCalls] deletes them, and
// MaxCalls bounds them.
func (s *Server) Executions() []core.Execution {
	s.begin()
	return s.core.Executions()
}

// Tasks returns the tasks in the order they were accepted.
func (s *Server) Tasks() []core.TaskInfo {
	s.begin()
	return s.core.Tasks()
}

// ExpireTask makes the server forget a task, as the real one does some time after its end. How long the real
// server keeps a task is unknown. See ExpiredEmpty for the responses to polls of it.
func (s *Server) ExpireTask(id string) {
	s.begin()
	s.core.ExpireTask(id)
}

// FreezeStatus makes the cached status keep its present content, as it does when reports are late. Queries
// (op 2) stay live.
func (s *Server) FreezeStatus() {
	s.begin()
	s.core.FreezeStatus()
}

// ThawStatus ends FreezeStatus.
func (s *Server) ThawStatus() {
	s.begin()
	s.core.ThawStatus()
}

// SetLag changes LagCalls; 0 brings the cached status up to date.
func (s *Server) SetLag(answers int) {
	s.begin()
	s.core.SetLag(answers)
}

// SetRowLabels changes RowLabels.
func (s *Server) SetRowLabels(labels map[string]string) {
	s.begin()
	s.core.SetRowLabels(labels)
}

// NextStep runs the next step of the scenario now, without waiting for its condition.
func (s *Server) NextStep() error {
	s.begin()
	return s.play.Next()
}

// Tick runs one round of supervision, and returns when its commands have ended. Hosted processes of auto_type
// 1 that died are restarted, up to start_retries times. Local processes over their limits are stopped.
// Virtual processes are restarted at once, local ones at intervals of start_interval.
func (s *Server) Tick() {
	s.begin()
	s.core.Tick()
}
