package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// step is one run of the CLI within a scenario.
type step struct {
	name string
	// more is the number of hosts that are added to the scenario's, or of changes to the configuration.
	more int
	args []string
	env  []string
	code int
}

// The steps of a scenario.
const (
	stepCreate  = "create"
	stepNoop    = "no-op plan"
	stepVerify  = "the same with verify = \"agent\""
	stepPlanAdd = "plan, one host added"
	stepAdd     = "apply of that"
	stepDestroy = "destroy"
	stepRead    = "read" // of a data source

	stepStart   = "start"
	stepUpdate  = "update"
	stepRestart = "restart"
)

var resourceSteps = []step{
	{name: stepCreate, args: []string{"apply", "-auto-approve"}},
	{name: stepNoop, args: []string{"plan", "-detailed-exitcode"}},
	{name: stepVerify, args: []string{"plan", "-detailed-exitcode"}, env: []string{"BK_VERIFY=agent", "BK_HOSTED_SPECS_JOB_SCOPE_ID=3"}},
	{name: stepPlanAdd, more: 1, args: []string{"plan", "-detailed-exitcode"}, code: 2},
	{name: stepAdd, more: 1, args: []string{"apply", "-auto-approve"}},
	{name: stepDestroy, more: 1, args: []string{"apply", "-destroy", "-auto-approve"}},
}

// Steps of other scenarios. Many resources with few hosts are not measured with a host added.
var (
	shardSteps = []step{resourceSteps[0], resourceSteps[1], {name: stepDestroy, args: []string{"apply", "-destroy", "-auto-approve"}}}
	readSteps  = []step{{name: stepRead, args: []string{"apply", "-auto-approve"}}}
	spanSteps  = []step{
		{name: stepStart, args: []string{"apply", "-auto-approve"}},
		{name: stepUpdate, more: 1, args: []string{"apply", "-auto-approve"}},
		{name: stepRestart, more: 2, args: []string{"apply", "-auto-approve"}},
	}
)

// scenario is a configuration and what is done with it.
type scenario struct {
	name  string
	hosts int
	steps []step
	// config is the configuration for a number of hosts.
	config func(hosts int) string
	// read makes the floor return the recorded response of the provider.
	read bool
	// topology is the content of CMDB, in JSON; "" for none.
	topology string
	// takes is the duration of a start or restart on every host.
	takes time.Duration
}

func oneResource(hosts int) scenario {
	return scenario{name: fmt.Sprintf("1 resource × %d", hosts), hosts: hosts, steps: resourceSteps, config: func(n int) string {
		return fmt.Sprintf(`
resource "bk_hosted_process" "bench" {
  meta  = { namespace = "bench", name = "nginx" }
  hosts = {
%s  }
%s}
`, addresses(0, n), spec)
	}}
}

// manyResources returns a scenario of resources in one namespace. Added hosts go to the last one.
func manyResources(resources, each int, steps []step) scenario {
	return scenario{
		name: fmt.Sprintf("%d resources × %d", resources, each), hosts: resources * each, steps: steps,
		config: func(hosts int) string {
			var text strings.Builder
			for i := range resources {
				own := each
				if i == resources-1 {
					own = hosts - i*each
				}
				fmt.Fprintf(&text, `
resource "bk_hosted_process" "bench_%[1]d" {
  meta  = { namespace = "bench", name = "nginx-%[1]d" }
  hosts = {
%[2]s  }
%[3]s}
`, i, addresses(i*each, own), spec)
			}
			return text.String()
		},
	}
}

// shards has many small resources, and fleet as many hosts as a platform may have.
func shards() scenario { return manyResources(200, 50, shardSteps) }
func fleet() scenario  { return manyResources(20, 5000, resourceSteps) }

// makespan starts, updates and restarts a process for which this takes some time on each host: until the
// agents check whether it runs.
func makespan(hosts int, takes time.Duration) scenario {
	return scenario{name: fmt.Sprintf("%d processes of %s", hosts, takes), hosts: hosts, steps: spanSteps, takes: takes, config: func(n int) string {
		changed := n - hosts
		text := fmt.Sprintf(`
resource "bk_hosted_process" "bench" {
  meta      = { namespace = "bench", name = "nginx" }
  ensure    = "running"
  on_update = "restart"
  hosts = {
%s  }
%s}
`, addresses(0, hosts), strings.NewReplacer(
			`start_cmd = `, fmt.Sprintf(`restart_cmd = "./nginx -g %d", start_cmd = `, min(changed, 1)),
			`auto_type = 1`, fmt.Sprintf(`auto_type = 1, start_check_secs = %d`, int(takes.Seconds())),
		).Replace(spec))
		if changed > 1 {
			text += `
resource "bk_process_operation" "bench" {
  process   = bk_hosted_process.bench.process
  operation = "restart"
  triggers  = { run = 1 }
}
`
		}
		return text
	}}
}

func dataSource(hosts int) scenario {
	return scenario{name: fmt.Sprintf("1 data source × %d", hosts), hosts: hosts, steps: readSteps, read: true, config: func(n int) string {
		return fmt.Sprintf(`
data "bk_process_status" "bench" {
  meta  = { namespace = "bench", name = "nginx" }
  hosts = {
%s  }
%s}
`, addresses(0, n), spec)
	}}
}

// cmdbHosts reads the hosts from CMDB.
func cmdbHosts(hosts int) scenario {
	return scenario{
		name: fmt.Sprintf("CMDB × %d", hosts), hosts: hosts, steps: readSteps, read: true,
		config: func(int) string {
			return `
data "bk_hosts" "bench" {
  bk_biz_id = 3
  topology  = { module = "web" }
}
`
		},
		topology: fmt.Sprintf(`{"businesses": [{"id": 3, "name": "bench", "sets": [{"name": "gz", "modules": [
  {"name": "web", "hosts": [{"count": %d, "ip": "10.0.0.0"}]}, {"name": "db", "hosts": [{"ip": "11.0.0.1"}]}]}]}]}`, hosts),
	}
}

func addresses(first, n int) string {
	var text strings.Builder
	for i := first; i < first+n; i++ {
		fmt.Fprintf(&text, "    web-%05d = \"0:10.%d.%d.%d\"\n", i, i>>16, i>>8&255, i&255)
	}
	return text.String()
}

const spec = `
  spec = {
    identity       = { proc_name = "nginx", setup_path = "/usr/sbin", pid_path = "/run/nginx.pid", user = "root" }
    control        = { start_cmd = "./nginx", stop_cmd = "./nginx -s quit" }
    resource       = { cpu = 30, mem = 10 }
    monitor_policy = { auto_type = 1 }
  }
`

// providerBlock points the provider at a platform.
func providerBlock(url string) string {
	return fmt.Sprintf(`
terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

provider "bk" {
  endpoint   = %q
  app_code   = %q
  app_secret = %q
  username   = "admin"
}
`, url, simulator.DefaultAppCode, simulator.DefaultAppSecret)
}
