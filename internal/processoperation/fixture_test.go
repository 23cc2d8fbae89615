package processoperation_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) { providertest.Main(m) }

const agentID = "0200000007525400b95ba81710390009e1d7"

// faces has all faces, and gseFaces those of GSE itself.
var (
	gseFaces = []providertest.Face{providertest.FaceESB, providertest.FaceGateway}
	faces    = append(gseFaces[:2:2], providertest.FaceJOB)
)

// trial is a test, or one case of it, on one face.
type trial struct {
	t  *testing.T
	by providertest.Face
}

// onFaces runs a test, or one case of it, on each of the faces.
func onFaces(t *testing.T, row string, through []providertest.Face, play func(trial)) {
	t.Helper()
	for _, by := range providertest.Through(t, row, through) {
		t.Run(strings.TrimPrefix(row+"/"+string(by), "/"), func(t *testing.T) {
			t.Parallel()
			play(trial{t, by})
		})
	}
}

func operationOf(t *testing.T, sim *providertest.Sim, by providertest.Face) *providertest.Core {
	t.Helper()
	return providertest.ConfiguredWith(t, sim.SettingsFor(by)).CoreOf(by.TypeName(providertest.OnOperate), &providertest.Kept{})
}

func configOf(by providertest.Face, operation string, n int, more map[string]any) map[string]any {
	config := by.Reference("./start.sh", n)
	config["operation"] = operation
	maps.Copy(config, more)
	return config
}

func restartConfig(by providertest.Face, n int, more map[string]any) map[string]any {
	return configOf(by, "restart", n, more)
}

func restartOn(by providertest.Face, hosts map[string]string) map[string]any {
	return restartConfig(by, 0, map[string]any{"hosts": hosts})
}

func asParts(_ *testing.T, config map[string]any) map[string]any { return config }

// asProcess moves meta, hosts and spec of a configuration into an entry of processes.
func asProcess(t *testing.T, config map[string]any) map[string]any {
	t.Helper()
	text := asJSON(t, map[string]any{"meta": config["meta"], "hosts": config["hosts"], "spec": config["spec"]})
	config = maps.Clone(config)
	for _, part := range []string{"meta", "hosts", "spec"} {
		delete(config, part)
	}
	config["process"] = text
	return config
}

func asJSON(t *testing.T, value map[string]any) string {
	t.Helper()
	text, err := json.Marshal(value)
	providertest.NoError(t, err)
	return string(text)
}

func fromJSON(t *testing.T, text string) (value map[string]any) {
	t.Helper()
	providertest.NoError(t, json.Unmarshal([]byte(text), &value))
	return value
}

// manyHosts returns a hosts map of n hosts.
func manyHosts(n int) map[string]string {
	hosts := make(map[string]string, n)
	for i := 1; i <= n; i++ {
		hosts[fmt.Sprintf("web-%03d", i)] = fmt.Sprintf("0:10.1.%d.%d", i/250, i%250+1)
	}
	return hosts
}

// registered returns a platform on which the process runs on hosts web-1 to web-n, and an operation through a face,
// not created yet.
func registered(t *testing.T, by providertest.Face, n int) (*providertest.Sim, *providertest.Core) {
	t.Helper()
	sim := providertest.NewSim(t)
	sim.Registered(t, n)
	for _, number := range providertest.HostNumbers(n) {
		providertest.NoError(t, sim.StartProcess(providertest.Address(number), "web", "nginx"))
	}
	return sim, operationOf(t, sim, by)
}

// hosted returns a platform on which the process of a face is registered and hosted on n hosts.
func hosted(t *testing.T, by providertest.Face, n int) *providertest.Sim {
	t.Helper()
	sim := providertest.NewSim(t)
	namespace, name := by.Process()
	for _, address := range providertest.AddressList(providertest.HostNumbers(n)) {
		providertest.NoError(t, sim.Register(address, namespace, name, nil, "{}"), sim.Host(address, namespace, name))
	}
	return sim
}

func operated(by providertest.Face, op int, hosts ...int) string {
	if by == providertest.FaceJOB {
		return fmt.Sprintf("operate_process/%d %s", op, providertest.Addresses(hosts...))
	}
	return providertest.Operated(op, hosts...)
}

func pids(sim *providertest.Sim) map[string]int {
	running := make(map[string]int)
	for _, process := range sim.Processes() {
		if process.Running {
			running[process.Host+" "+process.Name] = process.PID
		}
	}
	return running
}

func broken(n int) simulator.Fault {
	return simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpRestart), Hosts: []string{providertest.Address(n)}, Code: new(65535), Message: "sh: ./restart.sh: not found"}
}

// notRunning is the platform's answer to an operation that finds nothing to stop.
func notRunning(op int) simulator.Fault {
	return simulator.Fault{API: "operate_*", Op: new(op), Code: new(829), Message: "process is not running"}
}
