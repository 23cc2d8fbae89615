package simulator

// The methods of this file make changes as others do: a user at a console, another tool, the process
// itself. None of them is recorded as a call, and faults do not apply.

// Register registers a process, whether or not it is registered already. spec is a JSON object as in a
// request. If it is empty, the process keeps its spec.
func (s *Server) Register(addr, namespace, name string, labels map[string]string, spec string) error {
	s.begin()
	return s.core.Register(addr, namespace, name, labels, spec)
}

// Unregister removes a registration and the hosting with it.
func (s *Server) Unregister(addr, namespace, name string) error {
	s.begin()
	return s.core.Unregister(addr, namespace, name)
}

// Host hosts a process, with the spec that it was registered with.
func (s *Server) Host(addr, namespace, name string) error {
	s.begin()
	return s.core.Host(addr, namespace, name)
}

// Unhost removes the hosting and leaves the registration.
func (s *Server) Unhost(addr, namespace, name string) error {
	s.begin()
	return s.core.Unhost(addr, namespace, name)
}

// StartProcess starts a process that is registered or hosted, without hosting
// it. On a local host its start_cmd runs.
func (s *Server) StartProcess(addr, namespace, name string) error {
	s.begin()
	return s.core.StartProcess(addr, namespace, name)
}

// StopProcess stops a process without the agent, and unhosts it so that it stays down.
func (s *Server) StopProcess(addr, namespace, name string) error {
	s.begin()
	return s.core.StopProcess(addr, namespace, name)
}

// KillProcess makes a process die. If it is hosted, supervision restarts it, which for a virtual process
// happens at the next Tick.
func (s *Server) KillProcess(addr, namespace, name string) error {
	s.begin()
	return s.core.KillProcess(addr, namespace, name)
}
