package versions_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// since is the first release with a feature, by CLI. nil means all supported releases, and a CLI that is
// not in the map lacks the feature.
type since map[string]string

var (
	sinceEphemeral = since{terraform: "1.10", opentofu: "1.11"}
	sinceIdentity  = since{terraform: "1.12", opentofu: "1.12"}
	sinceActions   = since{terraform: "1.14"} // and lists
)

// words say one thing in the languages of the documentation.
type words struct{ english, chinese string }

// feature is what users do with a command line and this provider.
type feature struct {
	name, does words
	since      since
	// What a release that has it does, and what shows that one which is older has not.
	try, lack func(workspace)
}

var features = []feature{
	{
		name: words{"installation", "安装"},
		does: words{"`init` from a mirror, its lock file, `init -lockfile=readonly`, `validate`", "从镜像 `init`，锁文件，`init -lockfile=readonly`，`validate`"},
		try:  installation,
	},
	{
		name: words{"life of a resource", "资源的生命周期"},
		does: words{"a saved plan and its JSON, `apply`, a plan without changes, an update with its operation, drift that a plan finds and an apply repairs, `destroy`", "保存的 plan 及其 JSON，`apply`，没有变更的 plan，更新及其操作，由 plan 发现、由 apply 修复的漂移，`destroy`"},
		try:  life,
	},
	{
		name: words{"import", "导入"},
		does: words{"the command `import`, and the block `import`", "`import` 命令，以及 `import` 块"},
		try:  importing,
	},
	{
		name: words{"functions", "函数"},
		does: words{"every function of the provider", "Provider 的所有函数"},
		try:  functions,
	},
	{
		name: words{"examples", "示例"},
		does: words{"`fmt -check` of all examples, `init` and `validate` of those that stand by themselves", "所有示例的 `fmt -check`，可独立使用的示例的 `init` 和 `validate`"},
		try:  examples,
	},
	{
		name: words{"tests of modules", "模块测试"},
		does: words{"`test` of the modules, with the provider mocked", "用模拟的 Provider 对模块执行 `test`"},
		try:  modules,
	},
	{
		name: words{"schema", "schema"},
		does: words{"`providers schema -json`, which editors read: all that the release knows is there, with types and descriptions", "供编辑器读取的 `providers schema -json`：该版本能识别的内容、类型和说明都在其中"},
		try:  schemas,
	},
	{
		name:  words{"ephemeral secrets", "ephemeral 密钥"},
		does:  words{"a secret in an `ephemeral` variable, which is in no plan and no state", "`ephemeral` 变量中的密钥，不会出现在 plan 和 state 中"},
		since: sinceEphemeral, try: ephemeral, lack: noEphemeral,
	},
	{
		name:  words{"import by identity", "按 identity 导入"},
		does:  words{"`import` by identity", "按 identity 的 `import`"},
		since: sinceIdentity, try: identity, lack: noIdentity,
	},
	{
		name:  words{"actions", "action"},
		does:  words{"an action that a change triggers, and one that `apply -invoke` runs", "由变更触发的 action，以及由 `apply -invoke` 运行的 action"},
		since: sinceActions, try: actions, lack: noActions,
	},
	{
		name:  words{"lists", "list 资源"},
		does:  words{"`query`, with the configuration that it generates", "`query` 及其生成的配置"},
		since: sinceActions, try: lists, lack: noLists,
	},
}

func TestMain(m *testing.M) { providertest.Main(m) }

const (
	terraform = "Terraform"
	opentofu  = "OpenTofu"
)

// commandLine is a release of Terraform or OpenTofu.
type commandLine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (c commandLine) String() string { return c.Name + " " + c.Version }

func (c commandLine) has(since since) bool {
	first, ever := since[c.Name]
	return since == nil || ever && minor(c.Version) >= minor(first)
}

// minor is the second number of a version: the first is 1 in all that there are.
func minor(version string) int {
	_, rest, _ := strings.Cut(version, ".")
	number, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	return n
}

// atHand is the command line that acceptance tests run on.
func atHand(t *testing.T) commandLine {
	t.Helper()
	cli := providertest.NewEmptyCLI(t)
	at := commandLine{Name: terraform}
	if strings.HasPrefix(cli.Expect(0, "version"), opentofu) {
		at.Name = opentofu
	}
	var told struct {
		Version string `json:"terraform_version"` // of OpenTofu as well
	}
	text := cli.Expect(0, "version", "-json")
	if err := json.Unmarshal([]byte(text), &told); err != nil || !strings.HasPrefix(told.Version, "1.") {
		t.Fatalf("%v: %s", err, text)
	}
	at.Version = told.Version
	return at
}

// workspace is a command line with a configuration, that finds the provider in a mirror,
// and its platform.
type workspace struct {
	*providertest.CLI
	sim *providertest.Sim
	at  commandLine
}

func newWorkspace(t *testing.T, at commandLine) workspace {
	t.Helper()
	sim := providertest.NewSim(t)
	w := workspace{providertest.NewCLI(t, sim, ""), sim, at}
	w.UseMirror()
	return w
}

// Whatever a release has works, and whatever it is said to lack it lacks.
func TestAccVersions(t *testing.T) {
	t.Parallel()
	at := atHand(t)
	if os.Getenv("BK_TEST_RECORD") != "" {
		t.Cleanup(func() {
			if !t.Failed() {
				keepRun(t, at)
			}
		})
	}
	for _, f := range features {
		t.Run(f.name.english, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, at)
			if at.has(f.since) {
				f.try(w)
				return
			}
			f.lack(w)
			t.Skipf("%s lacks it", at)
		})
	}
}
