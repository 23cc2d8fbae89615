package providertest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

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

const BenchType = "bk_hosted_process"

func AddressList(numbers []int) []string {
	list := make([]string, len(numbers))
	for i, n := range numbers {
		list[i] = Address(n)
	}
	return list
}

const HostedType = "bk_hosted_process"

const HostedAddress = "bk_hosted_process.test"

func Addresses(numbers ...int) string {
	return strings.Join(slices.Sorted(slices.Values(AddressList(numbers))), " ")
}

// Wrapped matches a pattern wherever a CLI breaks its lines.
func Wrapped(pattern string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(pattern, " ", `[\s│]+`))
}

const ActionType = "bk_process_operation"

// Invocation is a configuration of the action on hosts web-1 to web-n.
func Invocation(operation string, hosts int, more map[string]any) map[string]any {
	config := map[string]any{
		"meta":      map[string]any{"namespace": "web", "name": "nginx"},
		"hosts":     HostsOf(hosts),
		"spec":      Spec("./start.sh"),
		"operation": operation,
	}
	for name, value := range more {
		config[name] = value
	}
	return config
}

func HostsOf(n int) map[string]string {
	hosts := make(map[string]string, n)
	for _, number := range HostNumbers(n) {
		hosts["web-"+string(rune('0'+number))] = Address(number)
	}
	return hosts
}

// Spec has no command but one that starts, and one that restarts.
func Spec(start string) map[string]any {
	return map[string]any{
		"identity":       map[string]any{"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "user": "root"},
		"control":        map[string]any{"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh"},
		"monitor_policy": map[string]any{"auto_type": 1},
	}
}

const OperationAddress = "bk_process_operation.test"

// OperationConfig is a hosted process and an operation on it.
type OperationConfig struct {
	Hosted    HostedConfig
	Operation string
	Hosts     string // HCL of the operation's hosts; those of the hosted process by default
	More      string
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

const StatusAddress = "data.bk_process_status.test"

func StatusConfig(more string) string {
	return fmt.Sprintf(`
data "bk_process_status" "test" {
  meta  = bk_hosted_process.test.meta
  hosts = bk_hosted_process.test.hosts
  %s
}
`, more)
}

const WithSpec = "spec = bk_hosted_process.test.spec"

// ProviderBlock writes settings, separated by commas, on lines of their own.
func ProviderBlock(settings string) string {
	return "provider \"bk\" {\n" + commaToLine.Replace(settings) + "\n}\n"
}

// HostedConfig is a bk_hosted_process.
type HostedConfig struct {
	Hosts  string // HCL of the hosts map
	Labels string // HCL of meta.labels
	Start  string // start_cmd
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

// commaToLine turns a list of settings into lines of a block.
var commaToLine = strings.NewReplacer(", ", "\n  ")
