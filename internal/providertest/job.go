package providertest

import "fmt"

// JobConfig is a bk_job_hosted_process, in HCL. Scope and Process have defaults; More holds further
// attributes.
type JobConfig struct {
	Scope, Process, Hosts, More string
}

// Reference returns scope, hosts and process, in HCL.
func (c JobConfig) Reference() string {
	if c.Scope == "" {
		c.Scope = `scope = { type = "biz", id = "2" }`
	}
	if c.Process == "" {
		c.Process = JobProcess("./start.sh")
	}
	return fmt.Sprintf("  %s\n  hosts = %s\n  process = %s\n", c.Scope, c.Hosts, c.Process)
}

// JobProcess returns the HCL of a process with start as its start_cmd.
func JobProcess(start string) string {
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

func (c JobConfig) String() string {
	return fmt.Sprintf("resource \"bk_job_hosted_process\" \"test\" {\n%s  %s\n}\n", c.Reference(), c.More)
}

// JobProvider is ProviderConfig for JOB objects.
func (s *Sim) JobProvider(more ...string) string {
	return s.ProviderConfig(append(more, fmt.Sprintf("job_endpoint = %q", s.URL))...)
}
