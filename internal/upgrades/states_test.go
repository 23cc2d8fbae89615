package upgrades_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// keep is the version for which make keep writes the schema and the states, instead of comparing them.
var keep = flag.String("keep", "", "write the schema and the states of this release")

func TestMain(m *testing.M) {
	flag.Parse()
	if err := mayKeep(*keep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	providertest.Main(m)
}

// mayKeep returns an error for a version that is already released, because its promises do not change.
func mayKeep(version string) error {
	if version == "" {
		return nil
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
		return fmt.Errorf("-keep=%s: a version is three numbers, such as 0.1.0", version)
	}
	released, err := releases()
	if err != nil {
		return err
	}
	if slices.Contains(released, version) {
		return fmt.Errorf("-keep=%s: that release is out, and what it wrote stays as it is; keep the next one", version)
	}
	return nil
}

// releases returns the versions for which CHANGELOG.md has a heading.
func releases() ([]string, error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, heading := range regexp.MustCompile(`(?m)^## v?(\d+\.\d+\.\d+)`).FindAllStringSubmatch(string(text), -1) {
		versions = append(versions, heading[1])
	}
	return versions, nil
}

// States were kept for each release before its heading was written.
func TestReleases_haveKeptStates(t *testing.T) {
	t.Parallel()
	released, err := releases()
	providertest.NoError(t, err)
	for _, version := range released {
		kept, err := filepath.Glob(filepath.Join("testdata", version, "*", stateFile))
		providertest.Check(t, err == nil && len(kept) > 0, "CHANGELOG.md has %[1]s, and no states are kept for it: write Unreleased there again, run make keep VERSION=%[1]s, and then write the heading", version)
	}
}

// The files that a release leaves for a configuration, in a directory of its own.
const (
	configFile   = "main.tf"
	stateFile    = "state.json"    // as the CLI wrote it, with the provider's private data
	platformFile = "platform.json" // what is registered, and how
)

type onFile struct {
	Host      string            `json:"host"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Hosted    bool              `json:"hosted"`
	Running   bool              `json:"running"`
	Labels    map[string]string `json:"labels"`
	Spec      json.RawMessage   `json:"spec"`
}

// A state of an earlier release can be read, and does not differ from what its configuration declares.
// The owner is still known: a destroy removes everything.
//
// Promised in upgrades.md: The first plan after an upgrade is empty
// Promised in upgrades.md: the same declaration keeps its fingerprint.
func TestAccStates(t *testing.T) {
	t.Parallel()
	if *keep != "" {
		keepStates(t, filepath.Join("testdata", *keep))
		return
	}
	all, release := "testdata", "*"
	if released, err := releases(); err != nil {
		t.Fatal(err)
	} else if len(released) == 0 { // only the states that the next release would write can be read
		all, release = t.TempDir(), "next"
		t.Run("keep", func(t *testing.T) { keepStates(t, filepath.Join(all, release)) })
	}
	kept, err := filepath.Glob(filepath.Join(all, release, "*", stateFile))
	if err != nil || len(kept) == 0 && os.Getenv("TF_ACC") != "" { // without TF_ACC nothing is written
		t.Fatal(kept, err)
	}
	for _, file := range kept {
		dir := filepath.Dir(file)
		name, _ := filepath.Rel(all, dir)
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := newCLI(t, sim)
			restore(t, sim, dir)
			cli.Write("main.tf", providertest.ReadFile(t, dir, configFile))
			// Each CLI has its own registry in the provider's address.
			cli.Write("terraform.tfstate", strings.ReplaceAll(providertest.ReadFile(t, dir, stateFile), "registry.terraform.io", registry()))

			providertest.Says(t, cli.Expect(0, "plan", "-detailed-exitcode"), "No changes.")
			sim.Changed(t)
			cli.Expect(0, "destroy", "-auto-approve")
			for _, process := range sim.Processes() {
				// Over JOB, registering means hosting.
				if process.Registered && process.Namespace != "job" || process.Hosted {
					t.Errorf("left behind on %s: %+v", process.Host, process)
				}
			}
		})
	}
}

func newCLI(t *testing.T, sim *providertest.Sim) *providertest.CLI {
	t.Helper()
	cli := providertest.NewCLI(t, sim, "")
	cli.Env = append(cli.Env, "BK_JOB_ENDPOINT="+sim.URL)
	return cli
}

func registry() string { return cmp.Or(os.Getenv("TF_ACC_PROVIDER_HOST"), "registry.terraform.io") }

func keepStates(t *testing.T, release string) {
	t.Helper()
	providertest.NoError(t, os.RemoveAll(release))
	for _, name := range slices.Sorted(maps.Keys(configurations)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := newCLI(t, sim)
			cli.Write("main.tf", configurations[name])
			cli.Expect(0, "apply", "-auto-approve")
			cli.Expect(0, "plan", "-detailed-exitcode")

			dir := filepath.Join(release, name)
			providertest.NoError(t, os.MkdirAll(dir, 0o755))
			write(t, dir, configFile, configurations[name])
			write(t, dir, stateFile, strings.ReplaceAll(providertest.ReadFile(t, cli.Dir, "terraform.tfstate"), registry(), "registry.terraform.io"))
			var processes []onFile
			for _, p := range sim.Processes() {
				processes = append(processes, onFile{p.Host, p.Namespace, p.Name, p.Hosted, p.Running, p.Labels, p.Spec})
			}
			text, err := json.MarshalIndent(processes, "", "  ")
			providertest.NoError(t, err)
			write(t, dir, platformFile, string(text)+"\n")
		})
	}
}

func restore(t *testing.T, sim *providertest.Sim, dir string) {
	t.Helper()
	var processes []onFile
	providertest.Decode(t, providertest.ReadFile(t, dir, platformFile), &processes)
	for _, p := range processes {
		providertest.NoError(t, sim.Register(p.Host, p.Namespace, p.Name, p.Labels, string(p.Spec)))
		if p.Hosted {
			providertest.NoError(t, sim.Host(p.Host, p.Namespace, p.Name))
		}
		if p.Running {
			providertest.NoError(t, sim.StartProcess(p.Host, p.Namespace, p.Name))
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	providertest.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// schema has what configurations, states and expressions depend on: the attributes of each object, by
// path, with their types.
type schema map[string]map[string]attribute

type attribute struct {
	Type string `json:"type"`
	// Set says who sets it: "required", "optional", "computed" or "optional, computed".
	Set string `json:"set,omitempty"`
	// WriteOnly and Sensitive change how expressions may use it.
	Sensitive bool `json:"sensitive,omitempty"`
	WriteOnly bool `json:"write_only,omitempty"`
}

func servedSchema(t *testing.T) schema {
	t.Helper()
	p := providertest.NewProtocol(t)
	identities, err := p.Server.GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	p.Fine(err, identities.Diagnostics)
	s := schema{}
	for name, one := range p.Blocks() {
		s[name] = attributesOf(one)
	}
	for name, one := range p.Schema.Functions {
		arguments := map[string]attribute{"(result)": {Type: typeName(one.Return.Type)}}
		for i, argument := range one.Parameters {
			arguments[fmt.Sprintf("(argument %d)", i+1)] = attribute{Type: typeName(argument.Type), Set: "required"}
		}
		if one.VariadicParameter != nil {
			arguments["(more arguments)"] = attribute{Type: typeName(one.VariadicParameter.Type), Set: "optional"}
		}
		s["function "+name] = arguments
	}
	for name, one := range identities.IdentitySchemas {
		found := make(map[string]attribute)
		for _, a := range one.IdentityAttributes {
			found[a.Name] = attribute{Type: typeName(a.Type), Set: map[bool]string{true: "required", false: "optional"}[a.RequiredForImport]}
		}
		s["identity "+name] = found
	}
	return s
}

func attributesOf(s *tfprotov6.Schema) map[string]attribute {
	found := map[string]attribute{"(version)": {Type: fmt.Sprint(s.Version)}}
	sets := map[[3]bool]string{{true, false, false}: "required", {false, true, false}: "optional", {false, false, true}: "computed", {false, true, true}: "optional, computed"}
	providertest.EachAttribute(s.Block.Attributes, func(path string, a *tfprotov6.SchemaAttribute) {
		one := attribute{Set: sets[[3]bool{a.Required, a.Optional, a.Computed}], Sensitive: a.Sensitive, WriteOnly: a.WriteOnly}
		if a.NestedType != nil {
			one.Type = "nested " + a.NestedType.Nesting.String()
		} else {
			one.Type = typeName(a.Type)
		}
		found[path] = one
	})
	return found
}

func typeName(typ tftypes.Type) string { return strings.ReplaceAll(typ.String(), "tftypes.", "") }

var schemaFile = filepath.Join("testdata", "schema.json")

// Promised in upgrades.md: nothing is taken out of the schema, and nothing in it changes its type, before the next major version.
func TestSchema_promised(t *testing.T) {
	t.Parallel()
	now := servedSchema(t)
	released, err := releases()
	providertest.NoError(t, err)
	promised := schema{}
	if len(released) > 0 { // earlier, nothing is promised
		text := providertest.ReadFile(t, schemaFile)
		providertest.NoError(t, json.Unmarshal([]byte(text), &promised))
	}
	broken, added := compared(promised, now)
	if *keep != "" && len(broken) == 0 {
		providertest.NoError(t, os.MkdirAll(filepath.Dir(schemaFile), 0o755))
		providertest.NoError(t, os.WriteFile(schemaFile, []byte(now.text(t)), 0o644))
		return
	}
	if len(broken) > 0 {
		t.Error(brokenPromise(broken))
	}
	if len(added) > 0 && len(released) > 0 {
		t.Errorf("new, and promised once a release has it; make keep VERSION=… (the next release) adds it to %s:\n  %s", schemaFile, strings.Join(added, "\n  "))
	}
}

// text returns JSON with a line for each attribute, so that a diff shows a changed attribute as one line.
func (s schema) text(t *testing.T) string {
	t.Helper()
	var objects []string
	for _, object := range slices.Sorted(maps.Keys(s)) {
		var lines []string
		for _, path := range slices.Sorted(maps.Keys(s[object])) {
			line, err := json.Marshal(s[object][path])
			providertest.NoError(t, err)
			lines = append(lines, fmt.Sprintf("    %q: %s", path, line))
		}
		objects = append(objects, fmt.Sprintf("  %q: {\n%s\n  }", object, strings.Join(lines, ",\n")))
	}
	return "{\n" + strings.Join(objects, ",\n") + "\n}\n"
}

func brokenPromise(broken []string) string {
	return "a configuration or a state that works with the release before would not work any more:\n  " + strings.Join(broken, "\n  ") +
		"\nReleases promise that this does not happen (docs/guides/upgrades.md). Keep the attribute beside the new one, with a DeprecationMessage that " +
		"names its successor; take it out with the next major version, with an UpgradeState and a line in CHANGELOG.md, and write testdata/schema.json by hand then."
}

// compared returns which promises are broken, and which attributes are new.
func compared(promised, now schema) (broken, added []string) {
	for _, object := range slices.Sorted(maps.Keys(promised)) {
		current, ok := now[object]
		if !ok {
			broken = append(broken, object+" is gone")
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(promised[object])) {
			was, is := promised[object][path], current[path]
			if is == (attribute{}) {
				broken = append(broken, object+": "+path+" is gone")
			} else if was != is && is == (attribute{Type: was.Type, Set: eased(was.Set, is.Set), Sensitive: was.Sensitive && is.Sensitive, WriteOnly: was.WriteOnly}) {
				added = append(added, fmt.Sprintf("%s: %s may be more than it was: %+v, now %+v", object, path, was, is))
			} else if was != is {
				broken = append(broken, fmt.Sprintf("%s: %s was %+v, and is %+v", object, path, was, is))
			}
		}
	}
	for _, object := range slices.Sorted(maps.Keys(now)) {
		if promised[object] == nil {
			added = append(added, object)
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(now[object])) {
			switch _, known := promised[object][path]; {
			case known:
			case now[object][path].Set == "required" && promised[object][parent(path)] != attribute{} || now[object][path].Set == "required" && parent(path) == "":
				broken = append(broken, object+": "+path+" has to be set now, and was not there")
			default:
				added = append(added, object+": "+path)
			}
		}
	}
	return broken, added
}

// eased returns how an attribute may be set now, if no configuration has to change for it.
func eased(was, is string) string {
	allowed := map[string][]string{
		"required": {"optional", "optional, computed"},
		"optional": {"optional, computed"},
		"computed": {"optional, computed"},
	}
	if slices.Contains(allowed[was], is) {
		return is
	}
	return was
}

func parent(path string) string {
	i := strings.LastIndex(path, ".")
	if i < 0 {
		return ""
	}
	return path[:i]
}

func TestCompared(t *testing.T) {
	t.Parallel()
	type attributes = map[string]attribute
	const optional = "{Type:string Set:optional Sensitive:false WriteOnly:false}"
	text := func(set string) attributes { return attributes{"a": {Type: "string", Set: set}} }
	nested := attribute{Type: "nested SINGLE", Set: "optional"}
	for name, c := range map[string]struct {
		was, is       attributes
		broken, added []string
	}{
		"same":            {was: text("optional"), is: text("optional")},
		"gone":            {was: text("optional"), is: attributes{}, broken: []string{"o: a is gone"}},
		"another-type":    {was: text("optional"), is: attributes{"a": {Type: "number", Set: "optional"}}, broken: []string{"o: a was " + optional + ", and is " + strings.Replace(optional, "string", "number", 1)}},
		"no-longer-set":   {was: text("optional"), is: text("computed"), broken: []string{"o: a was " + optional + ", and is " + strings.Replace(optional, "optional", "computed", 1)}},
		"now-required":    {was: text("optional"), is: text("required"), broken: []string{"o: a was " + optional + ", and is " + strings.Replace(optional, "optional", "required", 1)}},
		"now-sensitive":   {was: text("optional"), is: attributes{"a": {Type: "string", Set: "optional", Sensitive: true}}, broken: []string{"o: a was " + optional + ", and is " + strings.Replace(optional, "false", "true", 1)}},
		"now-optional":    {was: text("required"), is: text("optional"), added: []string{"o: a may be more than it was: " + strings.Replace(optional, "optional", "required", 1) + ", now " + optional}},
		"new":             {was: attributes{}, is: text("optional"), added: []string{"o: a"}},
		"new-required":    {was: attributes{}, is: text("required"), broken: []string{"o: a has to be set now, and was not there"}},
		"required-in-old": {was: attributes{"n": nested}, is: attributes{"n": nested, "n.a": {Type: "string", Set: "required"}}, broken: []string{"o: n.a has to be set now, and was not there"}},
		"required-in-new": {was: attributes{}, is: attributes{"n": nested, "n.a": {Type: "string", Set: "required"}}, added: []string{"o: n", "o: n.a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken, added := compared(schema{"o": c.was}, schema{"o": c.is})
			providertest.Same(t, "broken and added", [][]string{c.broken, c.added}, [][]string{broken, added})
		})
	}
	broken, added := compared(schema{"gone": {}}, schema{"new": {}})
	providertest.Same(t, "objects", [][]string{{"gone is gone"}, {"new"}}, [][]string{broken, added})
	providertest.Says(t, brokenPromise([]string{"o: a is gone"}), "o: a is gone", "docs/guides/upgrades.md", "DeprecationMessage", "UpgradeState")
}
