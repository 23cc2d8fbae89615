package editor

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl-lang/decoder"
	"github.com/hashicorp/hcl-lang/lang"
	"github.com/hashicorp/hcl-lang/validator"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	tfjson "github.com/hashicorp/terraform-json"
	tfaddr "github.com/hashicorp/terraform-registry-address"
	"github.com/hashicorp/terraform-schema/earlydecoder"
	tfmod "github.com/hashicorp/terraform-schema/module"
	"github.com/hashicorp/terraform-schema/registry"
	"github.com/hashicorp/terraform-schema/schema"
)

// newest is a Terraform release with everything that the provider serves and the modules use.
var newest = version.Must(version.NewVersion("1.15.0"))

const requirement = "terraform {\n  required_providers {\n    bk = { source = \"blueking/bk\" }\n  }\n}\n"

// served is the provider's schema in the form that the language server reads.
var served = sync.OnceValues(func() (*schema.ProviderSchema, error) {
	command := exec.Command("go", "run", "./internal/cmd/bk-schema")
	command.Dir = filepath.Join("..", "..")
	text, err := command.Output()
	if err != nil {
		return nil, err
	}
	var all tfjson.ProviderSchemas
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	one := slices.Collect(maps.Values(all.Schemas))[0]
	return schema.ProviderSchemaFromJson(one, tfaddr.MustParseProviderSource("blueking/bk")), nil
})

// server is the state of a language server: one provider, and no module.
type server struct{ provider *schema.ProviderSchema }

func (s server) ProviderSchema(_ string, addr tfaddr.Provider, _ version.Constraints) (*schema.ProviderSchema, error) {
	if addr.Type != "bk" {
		return nil, fs.ErrNotExist
	}
	return s.provider, nil
}

func (server) DeclaredModuleCalls(string) (map[string]tfmod.DeclaredModuleCall, error) {
	return nil, nil
}

func (server) InstalledModulePath(string, string) (string, bool) { return "", false }

func (server) LocalModuleMeta(string) (*tfmod.Meta, error) { return nil, fs.ErrNotExist }

func (server) RegistryModuleMeta(tfaddr.Module, version.Constraints) (*registry.ModuleData, error) {
	return nil, fs.ErrNotExist
}

// opened is the only directory that is open in the editor.
type opened struct{ context *decoder.PathContext }

func (opened) Paths(context.Context) []lang.Path { return []lang.Path{{Path: "."}} }

func (o opened) PathContext(lang.Path) (*decoder.PathContext, error) { return o.context, nil }

// open returns a decoder for files by name.
func open(t *testing.T, texts map[string]string) *decoder.PathDecoder {
	t.Helper()
	provider, err := served()
	fine(t, err)
	files := make(map[string]*hcl.File, len(texts))
	for name, text := range texts {
		file, diags := hclsyntax.ParseConfig([]byte(text), name, hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		files[name] = file
	}
	meta, diags := earlydecoder.LoadModule(".", files)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	core, err := schema.CoreModuleSchemaForVersion(newest)
	fine(t, err)
	merger := schema.NewSchemaMerger(core)
	merger.SetTerraformVersion(newest)
	merger.SetStateReader(server{provider})
	merged, err := merger.SchemaForModule(meta)
	fine(t, err)
	coreFunctions, err := schema.FunctionsForVersion(newest)
	fine(t, err)
	functions := schema.NewFunctionsMerger(coreFunctions)
	functions.SetTerraformVersion(newest)
	functions.SetStateReader(server{provider})
	known, err := functions.FunctionsForModule(meta)
	fine(t, err)
	path, err := decoder.NewDecoder(opened{&decoder.PathContext{
		Schema: merged, Files: files, Functions: known,
		Validators: []validator.Validator{
			validator.BlockLabelsLength{}, validator.DeprecatedAttribute{}, validator.DeprecatedBlock{}, validator.MaxBlocks{}, validator.MinBlocks{},
			validator.MissingRequiredAttribute{}, validator.UnexpectedAttribute{}, validator.UnexpectedBlock{},
		},
	}}).Path(lang.Path{Path: "."})
	fine(t, err)
	return path
}

// mistakes returns what an editor reports about files.
func mistakes(t *testing.T, texts map[string]string) map[string]string {
	t.Helper()
	found, err := open(t, texts).Validate(t.Context())
	fine(t, err)
	said := make(map[string]string)
	for name, diags := range found {
		if len(diags) > 0 {
			said[name] = diags.Error()
		}
	}
	return said
}

// at returns the file of a configuration, and the position of the first occurrence of a text in it.
func at(config, text string) (files map[string]string, position hcl.Pos) {
	config = requirement + config
	before, _, _ := strings.Cut(config, text)
	return map[string]string{"main.tf": config}, hcl.Pos{
		Byte: len(before), Line: strings.Count(before, "\n") + 1, Column: len(before) - strings.LastIndex(before, "\n"),
	}
}

// An editor reports no error in the examples.
func TestExamples_noMistakes(t *testing.T) {
	t.Parallel()
	dirs := make(map[string]map[string]string) // texts by name, by directory
	err := filepath.WalkDir(filepath.Join("..", "..", "examples"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".tf" {
			return err
		}
		text, err := os.ReadFile(path)
		dir := filepath.Dir(path)
		if dirs[dir] == nil {
			dirs[dir] = make(map[string]string)
		}
		dirs[dir][filepath.Base(path)] = string(text)
		return err
	})
	if err != nil || len(dirs) < 20 {
		t.Fatal(len(dirs), err)
	}
	for dir, texts := range dirs {
		if !strings.Contains(strings.Join(slices.Collect(maps.Values(texts)), "\n"), "required_providers") {
			texts["terraform.tf"] = requirement
		}
		for name, said := range mistakes(t, texts) {
			t.Errorf("%s/%s: %s", dir, name, said)
		}
	}
}

// An editor reports existing errors.
func TestMistakes_found(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, want string }{
		"unknown":  {"resource \"bk_hosted_process\" \"web\" {\n  meta = {}\n  hosts = {}\n  spec = {}\n  colour = 1\n}\n", "colour"},
		"required": {"resource \"bk_process_operation\" \"web\" {\n}\n", "operation"},
		"action":   {"action \"bk_process_operation\" \"web\" {\n  config {\n    colour = 1\n  }\n}\n", "colour"},
		"provider": {"provider \"bk\" {\n  colour = 1\n}\n", "colour"},
		"data":     {"data \"bk_hosts\" \"web\" {\n  colour = 1\n}\n", "colour"},
	} {
		if said := mistakes(t, map[string]string{"main.tf": requirement + c.config})["main.tf"]; !strings.Contains(said, c.want) {
			t.Errorf("%s: it says %s, not %s", name, said, c.want)
		}
	}
}

// Hovering over a name shows the text of the documentation.
func TestHover(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, at, want string }{
		"setting":    {"provider \"bk\" {\n  gateway = \"esb\"\n}\n", "gateway", "`apigw`"},
		"resource":   {"resource \"bk_hosted_process\" \"web\" {\n}\n", "bk_hosted_process", "blueking/bk"},
		"attribute":  {"resource \"bk_hosted_process\" \"web\" {\n  ensure = \"hosted\"\n}\n", "ensure", "`hosted`"},
		"nested":     {"resource \"bk_hosted_process\" \"web\" {\n  rollout = {\n    canary = [\"web-1\"]\n  }\n}\n", "canary", "wave"},
		"timeouts":   {"resource \"bk_hosted_process\" \"web\" {\n  timeouts = {\n    create = \"5m\"\n  }\n}\n", "create", "whole create"},
		"data":       {"data \"bk_hosts\" \"web\" {\n  min_hosts = 1\n}\n", "min_hosts", "host"},
		"in-actions": {"action \"bk_process_operation\" \"web\" {\n  config {\n    operation = \"stop\"\n  }\n}\n", "operation =", "`restart`"},
	} {
		files, position := at(c.config, c.at)
		hover, err := open(t, files).HoverAtPos(t.Context(), "main.tf", position)
		if err != nil || hover == nil || !strings.Contains(hover.Content.Value, c.want) {
			t.Errorf("%s: it says %+v (%v), not %q", name, hover, err, c.want)
		}
	}
}

// Functions are completed with their descriptions.
func TestFunctions(t *testing.T) {
	t.Parallel()
	provider, err := served()
	if err != nil || len(provider.Functions) < 6 {
		t.Fatalf("functions: %+v, %v", provider, err)
	}
	files, position := at("output \"waves\" {\n  value = provider::bk::waves([\"1\"], 3)\n}\n", "[\"1\"]")
	signature, err := open(t, files).SignatureAtPos("main.tf", position)
	if err != nil || signature == nil {
		t.Fatalf("%v: %v", signature, err)
	}
	if !strings.HasPrefix(signature.Name, "provider::bk::waves(") || signature.Description.Value == "" || len(signature.Parameters) != 2 {
		t.Errorf("the signature is %+v", signature)
	}
}

// fine ends the test if there is an error.
func fine(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
