package simulator

import (
	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
)

// openCMDB creates the CMDB that Topology declares, and adds its hosts to the process service.
func (s *Server) openCMDB() {
	topology := Topology{}
	if s.Topology != nil {
		topology = *s.Topology
	}
	opened, err := cmdb.New(topology)
	must(err)
	s.cmdb = opened
	s.cmdb.OnChange(s.core.Changed)
	must(s.cmdb.Admit(s.core.AddMachine))
}

// CMDB returns the simulator's CMDB, which can be changed at any time. Hosts that are added to it exist at
// once in the process service.
func (s *Server) CMDB() *cmdb.CMDB {
	s.begin()
	return s.cmdb
}
