package simulator

import (
	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
)

// openCMDB makes CMDB what Topology declares, and its hosts known to the process service.
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

// CMDB is what CMDB knows, to be changed while it answers. Hosts that are added there are
// known to the process service at once.
func (s *Server) CMDB() *cmdb.CMDB {
	s.begin()
	return s.cmdb
}
