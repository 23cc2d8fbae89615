package pipelines_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// The documented keys of each system that these files use. Sources: BK-CI's JSON schema of version v3.0
// and the parameters of its two plug-ins, GitLab's and Atlantis' references.
var documented = map[string]string{
	"bkci": `version name on push branches schedules cron always concurrency group cancel-in-progress queue-length stages label
		jobs check-in reviews flows reviewers description timeout-hours runs-on container image steps checkout run env uses with
		notices type receivers content if
		filePath pullType refName repoName targetPipelineId latestBuildNum buildNum srcPaths destPath`,
	"gitlab": `stages default image interruptible workflow rules if when stage resource_group script artifacts access expire_in
		paths needs environment`,
	"atlantis": `repos id branch workflow plan_requirements apply_requirements allowed_overrides allow_custom_workflows workflows
		plan apply steps run version automerge parallel_plan parallel_apply projects name dir workspace autoplan enabled when_modified`,
}

// Keys below these are names of one's own.
var named = map[string]bool{"jobs": true, "env": true, "workflows": true}

// Every pipeline is YAML, has keys that its system knows, and runs scripts that exist, in
// the order that matters.
func TestAccYAML(t *testing.T) {
	t.Parallel()
	opa := needOPA(t)
	dir := examples(t)
	runs := map[string][]string{}
	for system, keys := range documented {
		hidden, err := filepath.Glob(filepath.Join(dir, system, ".*.yml"))
		providertest.NoError(t, err)
		visible, err := filepath.Glob(filepath.Join(dir, system, "*"))
		providertest.NoError(t, err)
		for _, file := range append(visible, hidden...) {
			name := system + "/" + filepath.Base(file)
			parsed, err := exec.CommandContext(t.Context(), opa, "eval", "--format=raw", "--data=file:"+file, "data.file").CombinedOutput()
			if err != nil {
				t.Errorf("%s: %s", name, parsed)
				continue
			}
			for _, key := range keysOf(decode(t, parsed), false) {
				if !slices.Contains(strings.Fields(keys), key) {
					t.Errorf("%s: %s does not document the key %s", name, system, key)
				}
			}
			text := providertest.ReadFile(t, file)
			runs[name] = []string{}
			for _, run := range regexp.MustCompile(`(?m)\bsh (\S+/)(\S+)$`).FindAllStringSubmatch(text, -1) {
				runs[name] = append(runs[name], run[2])
				if _, err := os.Stat(filepath.Join(dir, run[2])); err != nil {
					t.Errorf("%s: %s", name, err)
				}
			}
		}
	}
	want := map[string][]string{
		"bkci/hosted-processes.yml": {"plan.sh", "policy.sh", "apply.sh"},
		"bkci/drift.yml":            {"drift.sh"},
		"gitlab/.gitlab-ci.yml":     {"plan.sh", "policy.sh", "apply.sh", "drift.sh"},
		"atlantis/repos.yaml":       {"plan.sh", "policy.sh", "apply.sh"},
		"atlantis/atlantis.yaml":    {},
	}
	providertest.Same(t, "what the pipelines run", want, runs)
}

// A person approves between plan and apply.
func TestAccYAML_approval(t *testing.T) {
	t.Parallel()
	opa := needOPA(t)
	dir := examples(t)
	for name, approval := range map[string]string{
		"bkci/hosted-processes.yml": `some i; data.file.stages[i].name == "apply"; i > 0; count(data.file.stages[i]["check-in"].reviews.flows[0].reviewers) > 0`,
		"gitlab/.gitlab-ci.yml":     `data.file.apply.rules[1] == {"when": "manual"}; data.file.apply.needs == ["plan"]`,
		"atlantis/repos.yaml":       `"approved" in data.file.repos[0].apply_requirements; not data.file.repos[0].allow_custom_workflows`,
	} {
		eval := exec.CommandContext(t.Context(), opa, "eval", "--fail", "--data=file:"+filepath.Join(dir, name), approval)
		if out, err := eval.CombinedOutput(); err != nil {
			t.Errorf("%s: no approval is required: %s\n%s", name, err, out)
		}
	}
}

// keysOf are the keys of all objects in a value, without names that a person gives.
func keysOf(value any, ownNames bool) []string {
	var keys []string
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			job, _ := below.(map[string]any) // GitLab's are named beside its own keys
			if !ownNames && job["script"] == nil {
				keys = append(keys, key)
			}
			keys = append(keys, keysOf(below, named[key])...)
		}
	case []any:
		for _, below := range value {
			keys = append(keys, keysOf(below, false)...)
		}
	}
	return keys
}

// The policies are well-formed and formatted; the scripts are POSIX shell.
func TestAccPolicies_wellFormed(t *testing.T) {
	t.Parallel()
	opa := needOPA(t)
	dir := examples(t)
	check := func(command string, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %s\n%s", filepath.Base(command), err, out)
		}
	}
	check(opa, "check", "--strict", filepath.Join(dir, "policy"))
	check(opa, "fmt", "--fail", "--list", filepath.Join(dir, "policy"))
	scripts := providertest.Glob(t, filepath.Join(dir, "*.sh"))
	for _, script := range scripts {
		check("sh", "-n", script)
	}
}
