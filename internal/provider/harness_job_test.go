package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

// jobConfig is a process over JOB; what is left out has a default.
type jobConfig struct {
	scope, process, hosts, more string
}

func (c jobConfig) reference() string {
	if c.scope == "" {
		c.scope = `scope = { type = "biz", id = "2" }`
	}
	if c.process == "" {
		c.process = jobProcess("./start.sh")
	}
	return fmt.Sprintf("  %s\n  hosts = %s\n  process = %s\n", c.scope, c.hosts, c.process)
}

func jobProcess(start string) string {
	return fmt.Sprintf(`{
    proc_name   = "nginx"
    setup_path  = "/srv/web"
    pid_path    = "/srv/web/nginx.pid"
    start_cmd   = %q
    stop_cmd    = "./stop.sh"
    restart_cmd = "./restart.sh"
    type        = 1
    cpu_lmt     = 30
    mem_lmt     = 10
  }`, start)
}

func (c jobConfig) String() string {
	return fmt.Sprintf("resource \"bk_job_hosted_process\" \"test\" {\n%s  %s\n}\n", c.reference(), c.more)
}

// jobStep is step for a JOB object.
func (s *testSim) jobStep(config, address string, action plancheck.ResourceActionType, changes ...string) resource.TestStep {
	step := s.step(config, action, changes...)
	step.ConfigPlanChecks.PreApply = []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)}
	return step
}

func (s *testSim) jobProvider(more ...string) string {
	return s.providerConfig(append(more, fmt.Sprintf("job_endpoint = %q", s.url))...)
}
