package reference_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

type mistake struct {
	at    string // the attribute, with dots
	wrote any    // nil for none
	said  string
	// in are the objects with this diagnostic: by default all objects of the face, or its operations if the mistake
	// is in processes. more are further attributes.
	in   []string
	more map[string]any
}

const (
	forms = "an address is `<bk_cloud_id>:<ip>` (`0:10.0.0.1`, `0:2001:db8::1`), `<bk_cloud_id>:<bk_supplier_id>:<ip>` (`0:0:10.0.0.1`, `0:0:[2001:db8::1]`), " +
		"or a GSE 2.0 agent id (16 to 64 characters without a colon; upper and lower case matter)."
	spelling = "If it comes from CMDB, set it there. If you have written it, check the spelling: Terraform silently drops attributes that an object does not have."
	nothing  = "nothing is set in it, so it has no effect. If you meant to set something, check the spelling: Terraform silently drops attributes that an object does not have. The attributes of this one are "
	commands = "health_cmd, kill_cmd, reload_cmd, restart_cmd, start_cmd, stop_cmd, version_cmd."
)

var (
	hosted    = []string{hostedBlock}
	operated  = []string{operationBlock, actionBlock}
	rolledOut = append(slices.Clone(operated), hosted...)
	// jobRolledOut are the objects over JOB with a rollout.
	jobRolledOut = []string{jobHostedBlock, jobOperationBlock, "action bk_job_process_operation"}
	stable       = map[string]any{"stable_for": "30s"}
	// hostsOf makes a hosts map of one host.
	hostsOf = func(address string) map[string]string { return map[string]string{"web-1": address} }
)

// Mistakes that a plan finds, each with the whole diagnostic.
var mistakes = []mistake{
	{at: "spec.control.start_cmd", in: hosted, said: "the agent runs this command to revive a hosted process that has died, but it is not set. " + spelling},
	{at: "spec.control.stop_cmd", in: hosted, said: "the agent runs this command to stop a process that exceeds its resource limits, but it is not set. " + spelling},
	{at: "spec.control.restart_cmd", in: operated, said: `the operation "restart" runs this command, which is not set. ` + spelling},
	{at: "spec.control.stop_cmd", wrote: " ", said: "the command is nothing but white space; if there is none, leave the attribute out."},
	{at: "spec.control", in: hosted, wrote: map[string]any{}, more: map[string]any{"ensure": "registered"}, said: nothing + commands},
	{at: "timeouts", in: hosted, wrote: map[string]any{}, said: nothing + "create, delete, read, update."},
	{at: "timeouts", in: operated[:1], wrote: map[string]any{}, said: nothing + "create, delete, update."},
	{at: "timeouts", in: operated[1:], wrote: map[string]any{}, said: nothing + "invoke."},
	{at: "timeouts", in: []string{"data bk_process_status"}, wrote: map[string]any{}, said: nothing + "read."},
	{at: "spec.warn_report_policy", wrote: map[string]any{}, said: nothing + "report_id."},
	{at: "spec.identity.proc_name", wrote: "/usr/sbin/nginx", said: `"/usr/sbin/nginx" has a directory in it; set proc_name to "nginx", and setup_path to the directory.`},
	{at: "spec.identity.proc_name", wrote: `C:\nginx\nginx.exe`, said: `"C:\\nginx\\nginx.exe" has a directory in it; set proc_name to "nginx.exe", and setup_path to the directory.`},
	{at: "spec.identity.proc_name", wrote: "/usr/sbin/", said: `"/usr/sbin/" is a directory, and this is the file name of the binary, such as nginx; its directory goes into setup_path.`},
	{at: "spec.identity.proc_name", wrote: "nginx ", said: `there is white space around "nginx "; did you mean "nginx"?`},
	{at: "spec.identity.proc_name", wrote: "", said: "the value is empty; it must be the file name of the binary, such as nginx."},
	{at: "spec.identity.proc_name", wrote: strings.Repeat("n", 256), said: "the file name has 256 bytes, and no system takes more than 255."},
	{at: "spec.identity.user", wrote: "", said: "the value is empty; it must be an account, such as root."},
	{at: "spec.identity.user", wrote: " root", said: `there is white space around " root"; did you mean "root"?`},
	{at: "spec.identity.setup_path", wrote: "srv/web", said: `the value must be an absolute path, such as /usr/sbin or C:\nginx; got "srv/web".`},
	{at: "spec.identity.pid_path", wrote: "/run/", said: `the value must be the absolute path of a file, such as /run/nginx.pid or C:\nginx\nginx.pid; got "/run/".`},
	{at: "spec.resource.cpu", wrote: 0, said: "the value must be more than 0 and at most 100 percent of the whole machine; got 0. With 0, the agent would stop the process as soon as it runs."},
	{at: "spec.resource.cpu", in: hosted, wrote: 0.3, said: "0.3 is less than one percent of the whole machine, and the agent stops a process that exceeds it. If you mean 30 % of the machine, write 30."},
	{at: "spec.resource.mem", in: hosted, wrote: 0.29, said: "0.29 is less than one percent of the whole machine, and the agent stops a process that exceeds it. If you mean 29 % of the machine, write 29."},
	{at: "spec.configmap[0]", wrote: []any{nil}, said: "it is null; leave it out."},
	{at: "spec.monitor_policy.start_check_secs", wrote: 2.5, said: "the value must be a whole number, such as 3; got 2.5."},
	{at: "spec.resource.fd", wrote: 1000.5, said: "the value must be a whole number, such as 1001; got 1000.5."},
	{at: "rollout.batch_size", in: rolledOut, wrote: 0.5, said: "the value must be a whole number, such as 1; got 0.5."},
	{at: "rollout.waves[0]", in: rolledOut, wrote: []string{"0"}, said: `"0" is a wave that never grows or has no hosts; the least is 1.`},
	{at: "rollout.waves[1]", in: rolledOut, wrote: []string{"1", "*1"}, said: `"*1" is as large as the wave before, and the last size repeats by itself; leave it out, or write *2 or more.`},
	{at: "rollout.waves[1]", in: rolledOut, wrote: []string{"1", "101%"}, said: `"101%" is more than all hosts; the most is 100%.`},
	{at: "rollout.waves[0]", in: rolledOut, wrote: []string{"+5"}, said: `"+5" is relative to the wave before, and the first wave has none; begin with a number or a percentage.`},
	{at: "rollout.max_failed_hosts", in: rolledOut, wrote: "101%", said: `"101%" is more than all hosts; the most is 100%.`},
	{at: "rollout.healthy.stable_for", in: rolledOut, wrote: "0s", said: `the value must be a duration of at least 1s, such as "500ms", "30s" or "2m"; got "0s".`},
	{at: "rollout.healthy.within", in: rolledOut, wrote: "0s", said: `the value must be a duration of at least 1s, such as "500ms", "30s" or "2m"; got "0s".`},
	{at: "rollout.healthy.within", in: rolledOut, wrote: "30s", said: `no host can be stable for 30s within 30s; allow more than stable_for, such as "5m30s", or leave it out.`},
	{at: "rollout.healthy.output", in: rolledOut, wrote: "^ok(", said: "\"^ok(\" is no regular expression (error parsing regexp: missing closing ): `^ok(`); the syntax is RE2's, as in ^ok."},
	{at: "rollout.healthy.output", in: rolledOut, wrote: "", said: "the expression is empty and matches anything; write what is to be printed, such as ^ok, or leave it out."},
	{at: "rollout.healthy.output", in: rolledOut, wrote: "^ok", said: "it is compared with the output of spec.control.health_cmd, which is not set; set that command, or leave this out."},
	{at: "rollout.healthy", in: operated, wrote: stable, more: map[string]any{"operation": "stop"}, said: `after the operation "stop" the process is not meant to run, so there is nothing to watch; leave it out, or start, restart or reload.`},
	{at: "rollout.healthy", in: hosted, wrote: stable, more: map[string]any{"ensure": "hosted"}, said: `it watches processes that are meant to run, and this resource starts none; set ensure = "running" or on_update = "restart", or leave it out.`},
	{at: "meta.namespace", wrote: "my web", said: `a name must not contain white space; use "my-web" instead of "my web".`},
	{at: "meta.name", wrote: "nginx\n", said: `a name must not contain white space; use "nginx" instead of "nginx\n".`},
	{at: "meta.name", wrote: "ng\x1b[2Jinx", said: `the name "ng\x1b[2Jinx" has a character that cannot be printed; choose another.`},
	{at: "meta.name", wrote: "", said: "the name is empty."},
	{at: "meta.name", wrote: "\t", said: "the name is nothing but white space."},
	{at: "meta.namespace", wrote: "we:b", said: `a name must not contain ":", which separates the parts of an import id; got "we:b".`},
	{at: "meta.name", wrote: strings.Repeat("n", 513), said: "the name has 513 characters, and no platform is known to store more than 512."},
	{at: `meta.labels["team"]`, wrote: map[string]any{"team": nil}, said: `the label "team" is null; give it a value, or leave it out.`},
	{at: `meta.labels["my team"]`, wrote: map[string]any{"my team": "sre"}, said: `the name of a label must not contain white space; use "my-team" instead of "my team".`},
	{at: `meta.labels[""]`, wrote: map[string]any{"": "sre"}, said: "a label needs a name, and this one is empty."},
	{at: `hosts["web-1"]`, wrote: hostsOf("2001:db8::1"), said: `not a host address: "2001:db8::1" has no bk_cloud_id; did you mean "0:2001:db8::1"?`},
	{at: `hosts["web-1"]`, wrote: hostsOf("0:0:2001:db8::1"), said: `not a host address: "0:0:2001:db8::1" lacks the brackets that an IPv6 address needs after a bk_supplier_id; did you mean "0:0:[2001:db8::1]"?`},
	{at: `hosts["web-1"]`, wrote: hostsOf("0:[2001:db8::1]"), said: `not a host address: "0:[2001:db8::1]" has brackets, which an IPv6 address needs only after a bk_supplier_id; did you mean "0:2001:db8::1"?`},
	{at: `hosts["web-1"]`, wrote: hostsOf("10.0.0.1"), said: `not a host address: "10.0.0.1" has no bk_cloud_id; did you mean "0:10.0.0.1"?`},
	{at: `hosts["web-1"]`, wrote: hostsOf("10.0.0.1:8080"), said: `not a host address: "10.0.0.1:8080" has a port, and a host is known without one; did you mean "0:10.0.0.1"?`},
	{at: `hosts["web-1"]`, wrote: hostsOf("1:10.0.0.1:8080"), said: `not a host address: "1:10.0.0.1:8080" has a port, and a host is known without one; did you mean "1:10.0.0.1"?`},
	{at: `hosts["web-1"]`, wrote: hostsOf("1:2:[2001:db8::1]:80"), said: `not a host address: "1:2:[2001:db8::1]:80" has a port, and a host is known without one; did you mean "1:2:[2001:db8::1]"?`},
	{at: `hosts["web-1"]`, wrote: hostsOf("0:web-1"), said: `not a host address: "0:web-1": "web-1" is not an IP address, and hosts are known by their IP rather than by a name; ` + forms},
	{at: `hosts["web-1"]`, wrote: hostsOf("web-1.example.com"), said: `not a host address: "web-1.example.com" is a host name, and hosts are known by their IP; ` + forms},
	{at: `hosts["web-1"]`, wrote: hostsOf(""), said: `not a host address: it is empty; ` + forms},
	{at: `hosts["w\x1b[2J"]`, wrote: map[string]string{"w\x1b[2J": "0:10.0.0.1"}, said: `the host key "w\x1b[2J" has a character that cannot be printed; choose another.`},
	{at: `hosts[""]`, wrote: map[string]string{"": "0:10.0.0.1"}, said: "the host key is empty; give the host a name of your choice, such as web-1, by which messages and results call it."},
	{at: `hosts["web-1"]`, wrote: map[string]any{"web-1": nil}, said: "the address is null; give the host an address or leave it out; " + forms},
	{at: `hosts["web-2"]`, wrote: map[string]string{"web-1": "0:10.0.0.1", "web-2": "0:0:10.0.0.1"}, said: `"0:0:10.0.0.1" is the same host as "0:10.0.0.1" under key "web-1"; name each host once.`},

	{at: `processes["web"].priority`, wrote: entries("web", entry("nginx", 0.5)), said: "the value must be a whole number, such as 1; got 0.5."},
	{at: `processes[""]`, wrote: entries("", entry("nginx", 1)), said: "the name is empty; give the process a name of your choice, by which messages and results call it."},
	{at: `processes["w\u202eeb"]`, wrote: entries("w\u202eeb", entry("nginx", 1)), said: `the name "w\u202eeb" has a character that cannot be printed; choose another.`},
	{at: `processes["web"].hosts["web-1"]`, wrote: entries("web", entry("nginx", 1, "web-1", "10.0.0.1")), said: `not a host address: "10.0.0.1" has no bk_cloud_id; did you mean "0:10.0.0.1"?`},
	{at: `processes["web"].hosts["web-2"]`, wrote: entries("web", entry("nginx", 1, "web-1", "0:10.0.0.1", "web-2", "0:0:10.0.0.1")), said: `"0:0:10.0.0.1" is the same host as "0:10.0.0.1" under key "web-1"; name each host once.`},
	{at: `processes["web"].hosts["b"]`, wrote: entries("db", entry("nginx", 1, "a", "0:10.0.0.1"), "web", entry("nginx", 2, "b", "0:0:10.0.0.1")), said: `the entry "db" has the process web:nginx on 0:10.0.0.1 already; name each process once on each host.`},
	{at: `processes["a/b"].hosts["c"]`, wrote: entries("a", entry("db", 1, "b/c", "0:10.0.0.1"), "a/b", entry("nginx", 2, "c", "0:10.0.0.1")), said: `its key in failed_hosts, <process>/<host>, would be "a/b/c", like that of a host of the process "a"; rename one of them.`},
	{at: `processes["web"].process`, wrote: entries("web", merged(entry("nginx", 1), "spec", nil)), said: "set process = bk_hosted_process.<name>.process, or meta, hosts and spec; not set: spec."},
	{at: `processes["web"].meta`, wrote: entries("web", map[string]any{"process": "{}", "meta": entry("nginx", 1)["meta"], "priority": 1}), said: "process is set, and holds meta, hosts and spec; leave out meta."},
	{at: `processes["web"].spec.control.restart_cmd`, wrote: entries("web", merged(entry("nginx", 1), "spec.control.restart_cmd", nil)), said: `the operation "restart" runs this command, which is not set. ` + spelling},
}

var jobMistakes = []mistake{
	{at: "process.start_cmd", in: []string{jobHostedBlock}, said: "the agent runs this command to revive a hosted process that has died, but it is not set. " + spelling},
	{at: "process.stop_cmd", in: []string{jobHostedBlock}, said: "the agent runs this command to stop a process that exceeds its resource limits, but it is not set. " + spelling},
	{at: "process.proc_name", wrote: "/usr/sbin/nginx", said: `"/usr/sbin/nginx" has a directory in it; set proc_name to "nginx", and setup_path to the directory.`},
	{at: "process.cpu_lmt", wrote: 12.5, said: "the value must be a whole number, such as 13; got 12.5."},
	{at: "process.cycle_time", in: jobRolledOut, more: map[string]any{"type": 0}, said: "a periodic process (type 0, which is also the default) needs a period, and none is set."},
	{at: "rollout.healthy.output", in: jobRolledOut, wrote: "^ok", said: "JOB's process has no health_cmd whose output could match; leave it out, so that only stable_for is checked."},
	{at: `hosts["web-1"]`, wrote: hostsOf("2001:db8::1"), said: `not a host address: "2001:db8::1" has no bk_cloud_id; did you mean "0:2001:db8::1"?`},

	{at: `processes["web"].declaration`, wrote: entries("web", jobEntry("scope", nil, "hosts", nil)), said: "set declaration = bk_job_hosted_process.<name>.declaration, or process, hosts and either scope or bk_biz_id; not set: scope or bk_biz_id, hosts."},
	{at: `processes["web"].scope`, wrote: entries("web", jobEntry("declaration", "{}")), said: "declaration is set, and holds process, hosts and either scope or bk_biz_id; leave out scope, process, hosts."},
	{at: `processes["web"].hosts["web-1"]`, wrote: entries("db", jobEntry(), "web", jobEntry("scope", nil, "bk_biz_id", 7)), said: `the entry "db" has the process /srv/web/nginx on 0:10.0.0.2 already; name each process once on each host.`},
	{at: `processes["web"].process.cycle_time`, wrote: entries("web", jobEntry("process.type", 0)), said: "a periodic process (type 0, which is also the default) needs a period, and none is set."},
	{at: `processes["web"].process.restart_cmd`, wrote: entries("web", jobEntry("process.restart_cmd", nil)), said: `the operation "restart" runs this command, which is not set. ` + spelling},
	{at: `processes["web"].process.cpu_lmt`, wrote: entries("web", jobEntry("process.cpu_lmt", 12.5)), said: "the value must be a whole number, such as 13; got 12.5."},
}

// merged is an element of processes with other values, each after its path.
func merged(entry object, pathAndValue ...any) object {
	for i := 0; i < len(pathAndValue); i += 2 {
		set(entry, fmt.Sprint(pathAndValue[i]), pathAndValue[i+1])
	}
	return entry
}

// jobEntry is an element of processes for JOB, with other values.
func jobEntry(pathAndValue ...any) object {
	return merged(configOf(jobHostedBlock, object{"priority": 1, "hosts": hostsOf("0:10.0.0.2")}), pathAndValue...)
}

// entries are processes, each after its name.
func entries(nameAndEntry ...any) object { return merged(object{}, nameAndEntry...) }

// entry is an element of processes; hosts are keys, each followed by its address.
func entry(name string, priority any, hosts ...string) map[string]any {
	addresses := make(map[string]string)
	for i := 0; i < len(hosts); i += 2 {
		addresses[hosts[i]] = hosts[i+1]
	}
	if len(hosts) == 0 {
		addresses["web-1"] = "0:10.0.0.1"
	}
	one := providertest.FaceESB.Reference("./start.sh", 1)
	one["meta"], one["hosts"], one["priority"] = map[string]any{"namespace": "web", "name": name}, addresses, priority
	return one
}

// Promised in reference: Limits without this command cause a warning if the process is kept running.
// Promised in limits.md: | Namespace or name of a process | 512 characters |.
// Promised in from-gsekit.md: without `restart_cmd`, a plan of a `restart` fails (*Missing Command*).
func TestMistakes(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	for face, rows := range map[providertest.Face][]mistake{providertest.FaceESB: mistakes, providertest.FaceJOB: jobMistakes} {
		for _, m := range rows {
			for _, object := range m.objects(face) {
				t.Run(m.at+"/"+object, func(t *testing.T) {
					t.Parallel()
					said := p.ValidateBlock(object, m.config(face, object, m.wrote))
					if len(said) != 1 {
						t.Fatalf("%d diagnostics, want one:\n%s", len(said), said)
					}
					providertest.Same(t, "said", fmt.Sprintf("Attribute %s: %s", m.at, m.said), said[0].Detail)
					providertest.Same(t, "at", m.shownAt(), providertest.AttributeText(said[0].Attribute))
					warns := slices.Contains([]string{"Nothing Set", "Low Limit"}, said[0].Summary) || strings.Contains(m.said, "resource limits")
					providertest.Check(t, warns != said.Failed(), "%s: %s", said[0].Severity, said[0].Summary)
					providertest.Silent(t, p.ValidateBlock(object, m.config(face, object, providertest.NotKnown{})))
				})
			}
		}
	}
}

func (m mistake) objects(face providertest.Face) []string {
	prefix := map[providertest.Face]string{providertest.FaceESB: "bk_", providertest.FaceJOB: "bk_job_"}[face]
	all := []string{"resource " + prefix + "process_operation", "action " + prefix + "process_operation", "resource " + prefix + "hosted_process", "data " + prefix + "process_status"}
	switch {
	case m.in != nil:
		return m.in
	case strings.HasPrefix(m.at, "processes"):
		return all[:2]
	default:
		return all
	}
}

// The page about mistakes quotes Terraform's own messages about wrong types and dropped attributes as every CLI prints them.
func TestAccMistakes_ofTerraform(t *testing.T) {
	t.Parallel()
	page := providertest.ReadFile(t, "../../docs/guides/configuration-mistakes.md")
	cli := providertest.NewCLI(t, providertest.NewSim(t), "")
	for name, c := range map[string]struct{ hosts, rollout, operation, said string }{
		"hosts-as-list":     {hosts: `["0:10.0.0.1"]`, said: "map of string required"},
		"percent-as-number": {rollout: `{ batch_size = "10%" }`, said: "a number is required"},
		"gate-as-bool":      {rollout: `{ batch_size = 1, healthy = true }`, said: `attribute "healthy": object required`},
		"waves-as-text":     {rollout: `{ waves = "10%" }`, said: `attribute "waves": list of string required`},
		"whole-resource":    {operation: "process = bk_hosted_process.test", said: `"process": string required`},
		"whole-resources":   {operation: "processes = { web = bk_hosted_process.test }", said: "priority"},
		"id":                {operation: `process = "web:nginx"`, said: "Invalid Process"},
		"dropped":           {rollout: `{ batch_size = 1, on_fail = "rollback" }`},
	} {
		hosted := providertest.HostedConfig{Hosts: cmp.Or(c.hosts, providertest.HostsConfig(1)), More: "rollout = " + cmp.Or(c.rollout, "null")}.String()
		if c.operation != "" {
			hosted += "resource \"bk_process_operation\" \"test\" {\n  operation = \"start\"\n  " + c.operation + "\n}\n"
		}
		cli.Configure(hosted)
		code, out := cli.Run("plan")
		providertest.Says(t, out, c.said)
		providertest.SaysNot(t, out, "on_fail ")
		providertest.Check(t, (code == 1) == (c.said != "") && strings.Contains(page, c.said),
			"%s: exit code %d; or the page does not say %q", name, code, c.said)
	}
}

// shownAt is the path of the mistake, or "" if a secret may be there.
func (m mistake) shownAt() string {
	if object, _, inside := strings.Cut(m.at, "."); inside && slices.Contains([]string{"meta", "rollout"}, object) {
		return object // Terraform cannot show a path inside an object
	}
	last, _, _ := strings.Cut(m.at[strings.LastIndex(m.at, ".")+1:], "[")
	if strings.HasSuffix(last, "_cmd") || slices.Contains([]string{"spec", "control", "process", "processes", "declaration"}, last) {
		return ""
	}
	return m.at
}

// config is an object with a value in place of the mistake.
func (m mistake) config(face providertest.Face, object string, value any) map[string]any {
	config := face.Reference("./start.sh", 2)
	if strings.Contains(object, "operation") {
		config["operation"] = "restart"
	}
	m.rollOut(object, config)
	target := config
	if face == providertest.FaceJOB {
		target, _ = config["process"].(map[string]any)
	}
	maps.Copy(target, m.more)
	if strings.HasPrefix(m.at, "processes") {
		for _, one := range []string{"meta", "hosts", "spec", "scope", "process"} {
			delete(config, one)
		}
	}
	path, _, _ := strings.Cut(m.at, "[")
	set(config, path, value)
	return config
}

// rollOut gives an object a valid rollout, if the mistake is in one.
func (m mistake) rollOut(object string, config map[string]any) {
	name, inside := strings.CutPrefix(m.at, "rollout.")
	if !inside {
		return
	}
	rollout := map[string]any{}
	if !strings.HasPrefix(name, "waves") {
		rollout["batch_size"] = 1
	}
	if strings.HasPrefix(name, "healthy") {
		rollout["healthy"] = maps.Clone(stable)
		if strings.HasSuffix(object, "hosted_process") {
			config["ensure"] = "running"
		}
		spec, _ := config["spec"].(map[string]any)
		if control, ok := spec["control"].(map[string]any); ok && !strings.Contains(m.said, "health_cmd") {
			control["health_cmd"] = "./health.sh"
		}
	}
	config["rollout"] = rollout
}

// The processes and their order are known once all processes and their priorities are.
func TestProcesses_known(t *testing.T) {
	t.Parallel()
	typ := types.ObjectType{AttrTypes: map[string]attr.Type{"priority": types.Int64Type}}
	first := types.ObjectValueMust(typ.AttrTypes, map[string]attr.Value{"priority": types.Int64Value(1)})
	second := types.ObjectValueMust(typ.AttrTypes, map[string]attr.Value{"priority": types.Int64Value(2)})
	later := types.ObjectValueMust(typ.AttrTypes, map[string]attr.Value{"priority": types.Int64Unknown()})
	for name, c := range map[string]struct {
		processes types.Map
		entries   int
		known     bool
	}{
		"one-process":    {types.MapNull(typ), 1, true},
		"other-name":     {types.MapValueMust(typ, map[string]attr.Value{"a": first, "c": first}), 2, true},
		"other-priority": {types.MapValueMust(typ, map[string]attr.Value{"a": first, "b": second}), 2, true},
		"all":            {types.MapValueMust(typ, map[string]attr.Value{"a": first, "b": first}), 2, true},
		"none-yet":       {types.MapUnknown(typ), 0, false},
		"priority-later": {types.MapValueMust(typ, map[string]attr.Value{"a": later, "b": first}), 2, false},
		"one-later":      {types.MapValueMust(typ, map[string]attr.Value{"a": types.ObjectUnknown(typ.AttrTypes), "b": first}), 1, false},
	} {
		object := &reference.GSEProcesses{Processes: c.processes}
		entries, known := object.Entries(t.Context())
		if len(entries) != c.entries || known != c.known || reference.SameProcesses(t.Context(), object, object) != known {
			t.Errorf("%s: %d entries, known: %t", name, len(entries), known)
		}
		all := &reference.GSEProcesses{Processes: types.MapValueMust(typ, map[string]attr.Value{"a": first, "b": first})}
		if name != "all" && reference.SameProcesses(t.Context(), all, object) {
			t.Errorf("%s: the same as others", name)
		}
	}
}
