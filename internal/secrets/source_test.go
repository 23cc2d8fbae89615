package secrets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/canary"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Terraform prints the source of the attribute that a diagnostic is about. These tests put a literal secret into every attribute that may
// hold one, make every mistake next to it, and check where the diagnostics point.

// secretive are the attributes at the top of a block that may contain a secret. These are attributes that the schema marks as
// sensitive, URLs, attributes that contain commands, also in one value, and triggers, which may have any value.
func secretive(schema *tfprotov6.Schema) []string {
	var names []string
	for _, a := range schema.Block.Attributes {
		if a.Sensitive || strings.HasSuffix(a.Name, "endpoint") || a.Name == "triggers" || a.Name == "process" || a.Name == "declaration" || hasCommands(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

func hasCommands(a *tfprotov6.SchemaAttribute) bool {
	return strings.HasSuffix(a.Name, "_cmd") || (a.NestedType != nil && slices.ContainsFunc(a.NestedType.Attributes, hasCommands))
}

func settable(a *tfprotov6.SchemaAttribute) bool { return a.Required || a.Optional }

// shown is the attribute whose source Terraform prints for a diagnostic (tfdiags, contextual.go): the
// last name in its path, if the block has it.
func shown(d *tfprotov6.Diagnostic) string {
	for _, step := range slices.Backward(d.Attribute.Steps()) {
		if name, ok := step.(tftypes.AttributeName); ok {
			return string(name)
		}
	}
	return ""
}

// MayHoldSecret knows every attribute that may hold a secret, so no diagnostic can point there.
func TestSource_allAreKnown(t *testing.T) {
	t.Parallel()
	found := 0
	for block, schema := range providertest.NewProtocol(t).Blocks() {
		for _, name := range secretive(schema) {
			found++
			providertest.Check(t, diagnose.MayHoldSecret(path.Root(name)), "%s: diagnostics can point at %s", block, name)
		}
	}
	providertest.Check(t, found >= 20, "only %d attributes found", found)
}

// wantHidden fails the test if a diagnostic would show or quote a secret.
func wantHidden(t *testing.T, where string, schema *tfprotov6.Schema, diags []*tfprotov6.Diagnostic) {
	t.Helper()
	for _, d := range diags {
		providertest.Check(t, !slices.Contains(secretive(schema), shown(d)) && !strings.HasSuffix(shown(d), "_cmd"),
			"%s: Terraform shows the source of %s for:\n%s", where, shown(d), d.Detail)
		for _, found := range canary.In(d.Summary + d.Detail) {
			t.Errorf("%s: quoted: %s", where, found)
		}
	}
}

func TestSource_ofSettings(t *testing.T) {
	t.Parallel()
	var (
		wrong = []any{
			nil, "", " ", "paas.example.com", "https://me:" + canary.Begin + "@paas.example.com", "http://" + canary.Begin + "@paas.example.com",
			"me:" + canary.Begin + "@paas.example.com", "paas.example.com?token=" + canary.Begin, "https://paas.example.com?token=" + canary.Begin,
			"https://me:" + canary.Begin + "@[::1", "ftp://me:" + canary.Begin + "@paas.example.com", "https://paas.example.com#" + canary.Begin, "https://paas.example.com:" + canary.Begin + "@", "http://paas.example.com", "a\nb",
		}
		users = []string{"username", "token", "access_token"}
		said  = make(map[string]bool)
	)
	try := func(settings map[string]any) {
		p := providertest.NewProtocol(t)
		config := p.Dynamic(p.Schema.Provider, settings)
		validated, err := p.Server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
		providertest.NoError(t, err)
		configured, err := p.Server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: config})
		providertest.NoError(t, err)
		diags := append(validated.Diagnostics, configured.Diagnostics...)
		wantHidden(t, fmt.Sprint(settings), p.Schema.Provider, diags)
		for _, name := range secretive(p.Schema.Provider) {
			said[name] = said[name] || strings.Contains(providertest.DiagnosticsText(diags), name)
		}
	}
	right := map[string]any{
		"endpoint": "https://paas.example.com", "job_endpoint": "https://job.example.com", "cmdb_endpoint": "https://cmdb.example.com",
		"app_code": "app", "app_secret": canary.Secret, "token": canary.Token, "ca_cert_file": nil,
	}
	with := func(more map[string]any) map[string]any {
		settings := maps.Clone(right)
		maps.Copy(settings, more)
		return settings
	}
	for _, a := range providertest.NewProtocol(t).Schema.Provider.Block.Attributes {
		if a.NestedType != nil || !a.Type.Is(tftypes.String) || a.Name == "gateway" || a.Name == "job_api" {
			continue // words of a list are quoted
		}
		for _, value := range wrong {
			if text, _ := value.(string); canary.In(text) != nil && a.Name != "app_secret" && !slices.Contains(users[1:], a.Name) && !strings.HasSuffix(a.Name, "endpoint") {
				continue // it may not hold a secret
			}
			try(with(map[string]any{a.Name: value}))
			try(with(map[string]any{a.Name: value, "gateway": "apigw"}))
		}
	}
	for _, one := range users {
		for _, other := range users {
			try(with(map[string]any{"token": nil, one: canary.Token, other: canary.AccessToken}))
		}
	}
	try(with(map[string]any{"username": "admin", "access_token": canary.AccessToken}))
	for _, name := range secretive(providertest.NewProtocol(t).Schema.Provider) {
		providertest.Check(t, said[name], "no diagnostic is about %s, so this proves nothing", name)
	}
}

func TestSource_ofObjects(t *testing.T) {
	t.Parallel()
	for block := range providertest.NewProtocol(t).Blocks() {
		kind, typ, _ := strings.Cut(block, " ")
		if kind == "provider" || kind == "list" {
			continue
		}
		t.Run(block, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := providertest.NewProtocol(t)
			if said := p.Configure(sim.Settings()); said != "" {
				t.Fatal(said)
			}
			schema, mistakes := p.Blocks()[block], 0
			for shape, config := range shapesOf(t, kind, typ) {
				if len(schema.Block.Attributes) > 0 && !fits(schema, config) {
					continue
				}
				diags := p.ValidateBlock(block, config)
				if !diags.Failed() {
					diags = append(diags, planned(p, kind, typ, config)...)
				}
				wantHidden(t, shape, schema, diags)
				// Actions and data sources have the checks of resources.
				deep := kind == "resource" && (shape == "parts" || shape == "several")
				spoil(schema.Block.Attributes, config, deep, func(where string) {
					diags := p.ValidateBlock(block, config)
					wantHidden(t, shape+": "+where, schema, diags)
					mistakes += len(diags)
				})
			}
			if secretive := secretive(schema); len(secretive) > 0 && slices.Contains(secretive, "process") && mistakes < 20 {
				t.Errorf("only %d diagnostics, so this proves little", mistakes)
			}
		})
	}
}

// shapesOf returns the ways to declare processes, with secrets in every attribute that may hold one.
func shapesOf(t *testing.T, kind, typ string) map[string]map[string]any {
	t.Helper()
	face, whole := providertest.FaceESB, "process"
	if strings.HasPrefix(typ, "bk_job_") {
		face, whole = providertest.FaceJOB, "declaration"
	}
	reference := func() map[string]any { return face.Reference("./start.sh --password="+canary.Secret, 1) }
	text := func(parts map[string]any) string {
		encoded, err := json.Marshal(parts)
		providertest.NoError(t, err)
		return string(encoded)
	}
	imported, entry, both, several := reference(), reference(), reference(), reference()
	delete(imported, "spec") // as after an import, until the first apply
	entry["priority"], both[whole], several["processes"] = 1, text(reference()), map[string]any{"web": entry}
	shapes := map[string]map[string]any{
		"parts": reference(), "declared": {whole: text(reference())}, "not declared": {whole: canary.Secret}, "imported": {whole: text(imported)}, "both": both,
		"several": {"processes": map[string]any{"web": entry}}, "several and one": several,
		"several declared": {"processes": map[string]any{"web": map[string]any{whole: text(reference()), "priority": 1}}},
	}
	for _, config := range shapes {
		if strings.HasSuffix(typ, "process_operation") {
			config["operation"] = "restart"
			if kind == "resource" {
				config["triggers"] = map[string]string{"password": canary.Secret}
			}
		}
	}
	return shapes
}

func fits(schema *tfprotov6.Schema, config map[string]any) bool {
	for name := range config {
		if !slices.ContainsFunc(schema.Block.Attributes, func(a *tfprotov6.SchemaAttribute) bool { return a.Name == name && settable(a) }) {
			return false
		}
	}
	return true
}

// spoil makes each mistake that attributes can have, one at a time, and undoes it.
// If deep, it also goes into objects.
func spoil(attributes []*tfprotov6.SchemaAttribute, config map[string]any, deep bool, check func(where string)) {
	for _, a := range attributes {
		if !settable(a) {
			continue
		}
		was, set := config[a.Name]
		for _, value := range wrongValues(a) {
			if value == nil && a.Required {
				continue // Terraform refuses it
			}
			config[a.Name] = value
			check(fmt.Sprintf("%s = %v", a.Name, value))
		}
		config[a.Name] = was
		if !set {
			delete(config, a.Name)
		}
		if a.NestedType == nil || !deep {
			continue
		}
		below := func(where string) { check(a.Name + "." + where) }
		switch inner, _ := was.(map[string]any); {
		case a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle && set:
			spoil(a.NestedType.Attributes, inner, deep, below)
		case a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeMap && set:
			for _, element := range inner {
				element, _ := element.(map[string]any)
				spoil(a.NestedType.Attributes, element, deep, below)
			}
		}
	}
}

// wrongValues returns values that an attribute may refuse.
func wrongValues(a *tfprotov6.SchemaAttribute) []any {
	if a.NestedType != nil {
		switch a.NestedType.Nesting {
		case tfprotov6.SchemaObjectNestingModeMap:
			return []any{nil, map[string]any{}, map[string]any{"web": nil}, map[string]any{"": map[string]any{"priority": 1}}, map[string]any{"web": map[string]any{"priority": 1}}}
		case tfprotov6.SchemaObjectNestingModeList:
			return []any{nil, []any{}, []any{nil}, []any{map[string]any{}}}
		default:
			return []any{nil, map[string]any{}}
		}
	}
	switch {
	case a.Type.Is(tftypes.String):
		return []any{nil, "", " ", "no such/thing "}
	case a.Type.Is(tftypes.Number):
		return []any{nil, -1, 0, 0.5, 101}
	case a.Type.Is(tftypes.Bool):
		return []any{nil, true}
	case a.Type.Is(tftypes.Map{}):
		return []any{nil, map[string]any{}, map[string]any{"": ""}, map[string]any{"x": nil}}
	case a.Type.Is(tftypes.List{}):
		return []any{nil, []any{}, []any{nil}}
	}
	return []any{nil}
}

func planned(p *providertest.Protocol, kind, typ string, config map[string]any) []*tfprotov6.Diagnostic {
	switch kind {
	case "action":
		resp, err := p.Server.PlanAction(p.T.Context(), &tfprotov6.PlanActionRequest{ActionType: typ, Config: p.Dynamic(p.Schema.ActionSchemas[typ].Schema, config)})
		p.Fine(err, nil)
		return resp.Diagnostics
	case "data":
		_, said := p.ReadData(typ, config)
		return said
	}
	_, said := p.CoreOf(typ, &providertest.Kept{}).Plan(config)
	return said
}

// newSecretiveCLI returns a CLI with canaries for credentials. It logs everything that can be
// logged, and keeps the output of each command in its directory.
func newSecretiveCLI(t *testing.T, gateway bkapi.Gateway) (*providertest.Sim, *providertest.CLI) {
	t.Helper()
	sim := providertest.NewSim(t)
	sim.AppSecret = canary.Secret
	cli := providertest.NewCLI(t, sim, "")
	cli.Env = append(cli.Env, "BK_GATEWAY"+"="+string(gateway), "BK_APP_SECRET"+"="+canary.Secret, "BK_USERNAME"+"=", "GOTRACEBACK=system",
		"TF_LOG=TRACE", "TF_LOG_SDK=TRACE", "TF_LOG_SDK_FRAMEWORK=TRACE", "TF_LOG_SDK_PROTO=TRACE", "TF_LOG_PROVIDER_BK_GSE=TRACE",
		"TF_LOG_PATH="+filepath.Join(cli.Dir, "trace.log"))
	if gateway == bkapi.APIGW {
		sim.AccessToken = canary.AccessToken
		cli.Env = append(cli.Env, "BK_ACCESS_TOKEN"+"="+canary.AccessToken)
	} else {
		sim.Token = canary.Token
		cli.Env = append(cli.Env, "BK_TOKEN"+"="+canary.Token)
	}
	return sim, cli
}

func configureSwift(c *providertest.CLI, config string) {
	c.Configure(config)
	text := providertest.ReadFile(c.T, c.Dir, "main.tf")
	c.Write("main.tf", strings.Replace(text, `provider "bk" {}`, "provider \"bk\" {\n  retry_wait_min = \"1ms\"\n  retry_wait_max = \"1ms\"\n}", 1))
}

// keepOutput runs a command, checks its exit code, and keeps its output in a file.
func keepOutput(c *providertest.CLI, code int, name string, args ...string) {
	c.Write(name, c.Expect(code, args...))
}

// No credential is in anything that Terraform prints, logs or stores, whether all succeeds,
// the platform echoes requests, or the provider's process dies.
func TestAccSecrets_stayInside(t *testing.T) {
	t.Parallel()
	spellings := slices.Sorted(maps.Keys(echoes(canary.Secret)))
	config := func(run string) string {
		return providertest.OperationConfig{
			Hosted: providertest.HostedConfig{Hosts: providertest.HostsConfig(len(spellings)), Start: "./start.sh --" + canary.Witness, More: `ensure = "registered"`}, Operation: "start",
			More: fmt.Sprintf("triggers = { run = %q }", run),
		}.String() + "\n" + `data "bk_process_status" "test" {
  meta  = bk_hosted_process.test.meta
  hosts = bk_hosted_process.test.hosts
  spec  = bk_hosted_process.test.spec
}

data "bk_hosted_specs" "test" {
  namespace  = "web"
  hosts      = bk_hosted_process.test.hosts
  depends_on = [bk_process_operation.test]
}
`
	}
	for _, gateway := range bkapi.Gateways() {
		t.Run(string(gateway), func(t *testing.T) {
			t.Parallel()
			sim, cli := newSecretiveCLI(t, gateway)
			// Credentials from the environment are not in the raw protocol either.
			raw := filepath.Join(cli.Dir, "protocol")
			providertest.NoError(t, os.Mkdir(raw, 0o700))
			cli.Env = append(cli.Env, "TF_LOG_SDK_PROTO_DATA_DIR="+raw, "BK_HOSTED_SPECS_JOB_SCOPE_ID=2", "BK_VERIFY=agent")
			configureSwift(cli, config("1"))
			keepOutput(cli, 0, "plan.txt", "plan", "-out", "plan.zip")
			keepOutput(cli, 0, "plan.json", "show", "-json", "plan.zip")
			keepOutput(cli, 0, "apply.txt", "apply", "plan.zip")
			keepOutput(cli, 0, "applied.json", "show", "-json")
			providertest.NoError(t, sim.EditProc(providertest.Address(1), "web", "nginx", map[string]any{"stopCmd": "./stop.sh -9"}))
			keepOutput(cli, 0, "drift.txt", "plan")

			// The platform echoes a credential for each host, in another spelling for each.
			secret := map[bkapi.Gateway]string{bkapi.ESB: canary.Token, bkapi.APIGW: canary.AccessToken}[gateway]
			for i, spelling := range spellings {
				echo := canary.Witness + echoes(canary.Secret)[spelling] + "\n" + canary.Witness + echoes(secret)[spelling]
				sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Hosts: []string{providertest.Address(i + 1)}, Code: new(65535), Message: echo})
				sim.Inject(simulator.Fault{Op: new(simulator.OpQuery), Hosts: []string{providertest.Address(i + 1)}, Code: new(0), Apply: true, Content: echo})
			}
			configureSwift(cli, config("2"))
			keepOutput(cli, 1, "failing-apply.txt", "apply", "-auto-approve")
			keepOutput(cli, 0, "state.json", "show", "-json")

			sim.ClearFaults()
			sim.Inject(simulator.Fault{HTTPStatus: 500, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>" + canary.Witness + echoes(canary.Secret)["page"] + echoes(secret)["dump"]})
			keepOutput(cli, 1, "failing-plan.txt", "plan")

			sim.ClearFaults()
			crash(cli, sim)
			texts := everythingIn(t, cli.Dir)
			for name, text := range texts {
				for _, found := range canary.In(text) {
					t.Errorf("%s: %s", name, found)
				}
				providertest.Check(t, !strings.Contains(text, simulator.SecretPassword) && !strings.Contains(text, simulator.SecretUserPwd),
					"%s: a secret of an agent's file", name)
			}
			if !strings.Contains(texts["applied.json"], `"written_at"`) || !strings.Contains(texts["drift.txt"], "hosted with stop_cmd") {
				t.Error("no agent's file was read")
			}
			// The control: the text that accompanies the credentials is found in all of these.
			for _, name := range []string{
				"plan.zip/tfplan", "plan.json", "terraform.tfstate", "state.json", "trace.log", "failing-apply.txt", "failing-plan.txt",
			} {
				providertest.Check(t, strings.Contains(texts[name], canary.Witness), "%s does not hold what it should (%d bytes)", name, len(texts[name]))
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(texts)), func(name string) bool {
				return strings.HasPrefix(name, "protocol/") && strings.Contains(texts[name], canary.Witness)
			}) {
				t.Error("the raw protocol is not there")
			}
			providertest.Says(t, texts["trace.log"], "calling API", "SIGQUIT: quit", "bkapi.(*Client).Call")
		})
	}
}

// crash kills the provider during a call, with a signal that prints the stacks of all goroutines.
func crash(c *providertest.CLI, sim *providertest.Sim) {
	sim.ResetCalls()
	sim.Inject(simulator.Fault{Delay: time.Hour})
	cmd, out := c.Command(c.T.Context(), "plan")
	providertest.NoError(c.T, cmd.Start())
	providertest.Eventually(c.T, "a call", func() bool { return len(sim.Calls()) > 0 })
	for _, pid := range childrenOf(c.T, cmd.Process.Pid) {
		process, err := os.FindProcess(pid)
		if err == nil {
			err = process.Signal(syscall.SIGQUIT)
		}
		providertest.Check(c.T, err == nil, "%s", err)
	}
	if err := cmd.Wait(); err == nil {
		c.T.Errorf("the plan succeeded without a provider:\n%s", out)
	}
	c.Write("crash.txt", out.String())
}

func childrenOf(t *testing.T, parent int) []int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc to find the provider's process")
	}
	var children []int
	for _, stat := range providertest.Glob(t, "/proc/[0-9]*/stat") {
		text, err := os.ReadFile(stat)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		providertest.NoError(t, err)
		// The name is in brackets and may contain anything. The state and the parent follow.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			providertest.NoError(t, err)
			children = append(children, pid)
		}
	}
	return children
}

// A mistake in a configuration is reported without printing a line that holds a secret.
func TestAccSecrets_ofTheSource(t *testing.T) {
	t.Parallel()
	const process = `
resource "bk_process_operation" "test" {
  operation = "restart"
  %s
  spec = {
    identity       = { proc_name = "nginx", setup_path = "/srv/web", pid_path = "/run/nginx.pid", user = "root" }
    monitor_policy = { auto_type = 1 }
    control = {
      start_cmd = "./start.sh --password=` + canary.Begin + `"
    }
  }
}
`
	_, cli := newSecretiveCLI(t, bkapi.ESB)
	cli.Configure(fmt.Sprintf(process, "process   = \""+canary.Begin+"\""))
	out := cli.Expect(1, "plan")
	providertest.Says(t, out, "process is set, and holds meta, hosts and spec; leave out spec.")
	for _, found := range canary.In(out) {
		t.Errorf("the plan prints %s", found)
	}
}

// When Terraform (1.11) replaces an object, it forgets that the schema marks an attribute as sensitive. The provider therefore
// plans the attribute as unknown, so that no object that refers to it prints it.
//
// Promised in security-model.md: A plan that replaces such an object shows the value as not known, because Terraform forgets there that it is sensitive.
func TestAccSecrets_ofTheReplaced(t *testing.T) {
	t.Parallel()
	const config = `
variable "password" {
  sensitive = true
  default   = "` + canary.Begin + `"
}
resource "bk_hosted_process" "test" {
  meta  = { namespace = "web", name = "%s" }
  hosts = { "web-1" = "0:10.0.0.1" }
  spec = {
    identity       = { proc_name = "nginx", setup_path = "/srv/web", pid_path = "/run/nginx.pid", user = "root" }
    monitor_policy = { auto_type = 1 }
    control        = { start_cmd = "./start.sh ${var.password}" }
  }
}
data "bk_process_status" "test" {
  process = bk_hosted_process.test.process
}
resource "bk_process_operation" "test" {
  process   = bk_hosted_process.test.process
  operation = "start"
}
`
	_, cli := newSecretiveCLI(t, bkapi.ESB)
	cli.Configure(fmt.Sprintf(config, "nginx"))
	cli.Expect(0, "apply", "-auto-approve")
	for what, args := range map[string][]string{"asked": {"nginx", "-replace=bk_hosted_process.test"}, "renamed": {"nginx-2", "-refresh=true"}} {
		cli.Configure(fmt.Sprintf(config, args[0]))
		out := cli.Expect(0, "plan", args[1])
		providertest.Check(t, strings.Contains(out, "-/+ resource") && len(canary.In(out)) == 0, "replaced as %s, the plan prints %v:\n%s", what, canary.In(out), out)
	}
}
