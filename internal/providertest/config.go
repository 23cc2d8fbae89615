package providertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Types and addresses of the objects in configurations of this package.
const (
	HostedType       = "bk_hosted_process"
	HostedAddress    = HostedType + ".test"
	ActionType       = "bk_process_operation"
	OperationAddress = ActionType + ".test"
	StatusAddress    = "data.bk_process_status.test"
)

// WithSpec is the spec in a StatusConfig.
const WithSpec = "spec = bk_hosted_process.test.spec"

// HostedConfigOf returns a bk_hosted_process on addresses by host key, for Protocol.
func HostedConfigOf(addresses map[string]string) map[string]any {
	return map[string]any{
		"meta":  map[string]any{"namespace": "web", "name": "nginx"},
		"hosts": addresses,
		"spec": map[string]any{
			"identity":       map[string]any{"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "user": "root"},
			"control":        map[string]any{"start_cmd": "./start.sh", "stop_cmd": "./stop.sh"},
			"resource":       map[string]any{"cpu": 30, "mem": 10},
			"monitor_policy": map[string]any{"auto_type": 1},
		},
	}
}

// AddressList returns the addresses of hosts by number.
func AddressList(numbers []int) []string {
	list := make([]string, len(numbers))
	for i, n := range numbers {
		list[i] = Address(n)
	}
	return list
}

// Addresses returns AddressList sorted and in one string, as in Sim.Changes.
func Addresses(numbers ...int) string {
	return strings.Join(slices.Sorted(slices.Values(AddressList(numbers))), " ")
}

// Invocation returns a configuration of the action bk_process_operation on hosts web-1 to web-n, for
// Protocol; more holds further attributes.
func Invocation(operation string, hosts int, more map[string]any) map[string]any {
	config := map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": HostsOf(hosts), "spec": Spec("./start.sh"), "operation": operation}
	maps.Copy(config, more)
	return config
}

// HostsOf returns a hosts map of web-1 to web-n, for Protocol; n is at most 9.
func HostsOf(n int) map[string]string {
	hosts := make(map[string]string, n)
	for _, number := range HostNumbers(n) {
		hosts["web-"+string(rune('0'+number))] = Address(number)
	}
	return hosts
}

// Spec returns a spec with start as its start_cmd, for Protocol. It has no resource limits, reload_cmd or
// kill_cmd.
func Spec(start string) map[string]any {
	return map[string]any{
		"identity":       map[string]any{"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "user": "root"},
		"control":        map[string]any{"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh"},
		"monitor_policy": map[string]any{"auto_type": 1},
	}
}

// OperationConfig is a bk_hosted_process and a bk_process_operation on it, in HCL.
type OperationConfig struct {
	Hosted    HostedConfig
	Operation string
	Hosts     string // HCL of the operation's hosts; those of the hosted process by default
	More      string // further attributes
}

func (c OperationConfig) String() string {
	if c.Hosts == "" {
		c.Hosts = "bk_hosted_process.test.hosts"
	}
	return c.Hosted.String() + fmt.Sprintf(`
resource "bk_process_operation" "test" {
  meta      = bk_hosted_process.test.meta
  hosts     = %s
  spec      = bk_hosted_process.test.spec
  operation = %q
  %s
}
`, c.Hosts, c.Operation, c.More)
}

// StatusConfig returns a bk_process_status of the hosted process, in HCL; more holds further attributes.
func StatusConfig(more string) string {
	return fmt.Sprintf(`
data "bk_process_status" "test" {
  meta  = bk_hosted_process.test.meta
  hosts = bk_hosted_process.test.hosts
  %s
}
`, more)
}

// ProviderBlock returns a provider block with settings that are separated by ", ".
func ProviderBlock(settings string) string {
	return "provider \"bk\" {\n" + commaToLine.Replace(settings) + "\n}\n"
}

// HostedConfig is a bk_hosted_process, in HCL.
type HostedConfig struct {
	Hosts  string // HCL of the hosts map
	Labels string // HCL of meta.labels; null by default
	Start  string // start_cmd; ./start.sh by default
	More   string // further attributes
}

func (c HostedConfig) String() string {
	if c.Start == "" {
		c.Start = "./start.sh"
	}
	if c.Labels == "" {
		c.Labels = "null"
	}
	return fmt.Sprintf(`
resource "bk_hosted_process" "test" {
  meta = {
    namespace = "web"
    name      = "nginx"
    labels    = %[2]s
  }
  hosts = %[1]s
  spec  = %[3]s
  %[4]s
}
`, c.Hosts, c.Labels, SpecConfig(c.Start), c.More)
}

// commaToLine puts each setting on its own line.
var commaToLine = strings.NewReplacer(", ", "\n  ")
