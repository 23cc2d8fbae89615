package provider

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

func hostedConfigOf(addresses map[string]string) map[string]any {
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

const benchType = "bk_hosted_process"

func testAddresses(numbers []int) []string {
	list := make([]string, len(numbers))
	for i, n := range numbers {
		list[i] = testAddress(n)
	}
	return list
}

const testList = "bk_hosted_process"

const testResource = "bk_hosted_process.test"

func addresses(numbers ...int) string {
	return strings.Join(slices.Sorted(slices.Values(testAddresses(numbers))), " ")
}

// wrapped matches a pattern wherever a CLI breaks its lines.
func wrapped(pattern string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(pattern, " ", `[\s│]+`))
}

const testAction = "bk_process_operation"

// invocation is a configuration of the action on hosts web-1 to web-n.
func invocation(operation string, hosts int, more map[string]any) map[string]any {
	config := map[string]any{
		"meta":      map[string]any{"namespace": "web", "name": "nginx"},
		"hosts":     hostsOf(hosts),
		"spec":      testSpec("./start.sh"),
		"operation": operation,
	}
	for name, value := range more {
		config[name] = value
	}
	return config
}

func hostsOf(n int) map[string]string {
	hosts := make(map[string]string, n)
	for _, number := range hostNumbers(n) {
		hosts["web-"+string(rune('0'+number))] = testAddress(number)
	}
	return hosts
}

// testSpec has no command but one that starts, and one that restarts.
func testSpec(start string) map[string]any {
	return map[string]any{
		"identity":       map[string]any{"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "user": "root"},
		"control":        map[string]any{"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh"},
		"monitor_policy": map[string]any{"auto_type": 1},
	}
}

const testOperation = "bk_process_operation.test"

// operationConfig is a hosted process and an operation on it.
type operationConfig struct {
	hosted    hostedConfig
	operation string
	hosts     string // HCL of the operation's hosts; those of the hosted process by default
	more      string
}

func (c operationConfig) String() string {
	if c.hosts == "" {
		c.hosts = "bk_hosted_process.test.hosts"
	}
	return c.hosted.String() + fmt.Sprintf(`
resource "bk_process_operation" "test" {
  meta      = bk_hosted_process.test.meta
  hosts     = %s
  spec      = bk_hosted_process.test.spec
  operation = %q
  %s
}
`, c.hosts, c.operation, c.more)
}

const testStatus = "data.bk_process_status.test"

func statusConfig(more string) string {
	return fmt.Sprintf(`
data "bk_process_status" "test" {
  meta  = bk_hosted_process.test.meta
  hosts = bk_hosted_process.test.hosts
  %s
}
`, more)
}

const withSpec = "spec = bk_hosted_process.test.spec"

// providerBlock writes settings, separated by commas, on lines of their own.
func providerBlock(settings string) string {
	return "provider \"bk\" {\n" + commaToLine.Replace(settings) + "\n}\n"
}

// hostedConfig is a bk_hosted_process.
type hostedConfig struct {
	hosts  string // HCL of the hosts map
	labels string // HCL of meta.labels
	start  string // start_cmd
	more   string // further attributes
}

func (c hostedConfig) String() string {
	if c.start == "" {
		c.start = "./start.sh"
	}
	if c.labels == "" {
		c.labels = "null"
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
`, c.hosts, c.labels, specConfig(c.start), c.more)
}

// commaToLine turns a list of settings into lines of a block.
var commaToLine = strings.NewReplacer(", ", "\n  ")
