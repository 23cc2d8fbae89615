package hostedspec_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
)

// nginx is an entry as agents write it (BSCP), without its secrets.
const nginx = `{"procName":"nginx","setupPath":"/usr/sbin","pidPath":"/run/nginx-1.pid","contact":"GSEKIT_BIZ_3","startCmd":"nginx -c \"a b\"",` +
	`"stopCmd":"nginx -s stop","restartCmd":"r","reloadCmd":"l","killCmd":"kill -9 $(cat /run/nginx-1.pid)","versionCmd":"v","healthCmd":"h","type":1,` +
	`"cpulmt":10.5,"memlmt":20,"user":"root","-":"","valuekey":"GSEKIT_BIZ_3:nginx_1","startCheckBeginTime":9,"startCheckEndTime":0,` +
	`"opTimeOut":70,"operateType":7,"timestamp":1782360282}`

var nginxEntry = hostedspec.Entry{
	Namespace: "GSEKIT_BIZ_3", Name: "nginx_1", ProcName: "nginx", SetupPath: "/usr/sbin", PIDPath: "/run/nginx-1.pid", User: "root",
	StartCmd: `nginx -c "a b"`, StopCmd: "nginx -s stop", RestartCmd: "r", ReloadCmd: "l", KillCmd: "kill -9 $(cat /run/nginx-1.pid)",
	VersionCmd: "v", HealthCmd: "h", AutoType: 1, HasAutoType: true, CPU: 10.5, Mem: 20, StartCheckSecs: 9, OpTimeout: 70, LastOperation: 7, WrittenAt: 1782360282,
}

func printed(file string) string { return "bk-hosted begin\n" + file + "\nbk-hosted end\n" }

func listed(entries ...string) string {
	return printed(`{"proc":[` + strings.Join(entries, ",") + `]}`)
}

// printedCase is an output of a script and its meaning.
type printedCase struct {
	output string
	want   []hostedspec.Entry
	why    string
}

func printedCases() map[string]printedCase {
	web := hostedspec.Entry{Namespace: "ns", Name: "web"}
	odd, gbk := web, web
	odd.Why, gbk.Why = "its entry in the agent's file has a value of an unknown form", "its entry in the agent's file has text that is not UTF-8"
	return map[string]printedCase{
		"as agents write it":     {listed(nginx), []hostedspec.Entry{nginxEntry}, ""},
		"two of one key":         {listed(nginx, nginx), []hostedspec.Entry{nginxEntry, nginxEntry}, ""},
		"little":                 {listed(`{"valuekey":"ns:web","contact":"ns"}`), []hostedspec.Entry{web}, ""},
		"no contact":             {listed(`{"valuekey":"ns:web"}`), []hostedspec.Entry{web}, ""},
		"another contact":        {listed(`{"valuekey":"ns:web","contact":"admin"}`), []hostedspec.Entry{web}, ""},
		"no namespace in key":    {listed(`{"valuekey":"web","contact":"ns"}`), []hostedspec.Entry{web}, ""},
		"colons":                 {listed(`{"valuekey":"a:b:c:d","contact":"a:b"}`), []hostedspec.Entry{{Namespace: "a:b", Name: "c:d"}}, ""},
		"numbers as text":        {listed(`{"valuekey":"ns:web","cpulmt":"10","type":" 2 ","memlmt":"","opTimeOut":null}`), []hostedspec.Entry{{Namespace: "ns", Name: "web", CPU: 10, AutoType: 2, HasAutoType: true}}, ""},
		"type 0":                 {listed(`{"valuekey":"ns:web","type":0}`), []hostedspec.Entry{{Namespace: "ns", Name: "web", HasAutoType: true}}, ""},
		"no type":                {listed(`{"valuekey":"ns:web","type":null}`, `{"valuekey":"ns:web","type":" "}`), []hostedspec.Entry{web, web}, ""},
		"unknown keys":           {printed(`{"plugins":[{"proc":[1]}],"nested":{"a":{}},"proc":[{"valuekey":"ns:web","new":[1,{}]}],"x":0}`), []hostedspec.Entry{web}, ""},
		"two lists":              {printed(`{"proc":[` + nginx + `],"proc":[{"valuekey":"ns:web"}]}`), []hostedspec.Entry{web}, ""},
		"nothing hosted":         {listed(), nil, ""},
		"null":                   {printed(`{"proc":null}`), nil, ""},
		"text around the object": {printed(`0 0 {"proc":[{"valuekey":"ns:web"}]} 0 {`), []hostedspec.Entry{web}, ""},
		"text around the marks":  {"Welcome\nto hostbk-hosted begin\r\n" + `{"proc":[]}` + "\r\nbk-hosted end\r\nbye\nbk-hosted missing", nil, ""},
		"on many lines":          {printed("{\"proc\":\n[{\"valuekey\":\"ns:\nweb\"}]\n}"), []hostedspec.Entry{web}, ""},
		"no file":                {"Welcome\nbk-hosted missing\n", nil, ""},
		"no directory":           {"bk-hosted no-directory\n", nil, "another path than this agent"},
		"unreadable":             {"bk-hosted unreadable\n", nil, "cannot read"},
		"nothing printed":        {"", nil, "nothing that it should"},
		"something else":         {"sh: bk-hosted missing: not found\n", nil, "nothing that it should"},
		"no end":                 {"bk-hosted begin\n" + `{"proc":[]}`, nil, "cut off"},
		"cut in a command":       {"bk-hosted begin\n" + `{"proc":[{"valuekey":"ns:web","startCmd":"echo bk-hosted missing`, nil, "cut off"},
		"command has a mark":     {listed(`{"valuekey":"ns:web","startCmd":"bk-hosted end"}`), []hostedspec.Entry{{Namespace: "ns", Name: "web", StartCmd: "bk-hosted end"}}, ""},
		"file cut off":           {printed(`{"proc":[{"valuekey":"ns:web","startCmd":"./st`), nil, "no JSON"},
		"no object":              {printed("0 0"), nil, "no JSON"},
		"empty":                  {printed(""), nil, "empty"},
		"no list":                {printed(`{"plugins":[]}`), nil, "no list of processes"},
		"an object for the list": {printed(`{"proc":{"valuekey":"ns:web"}}`), nil, "unknown form"},
		"a limit of words":       {listed(`{"valuekey":"ns:web","cpulmt":"ten"}`), []hostedspec.Entry{odd}, ""},
		"a limit that is huge":   {listed(`{"valuekey":"ns:web","cpulmt":1e999}`), []hostedspec.Entry{odd}, ""},
		"a type with a fraction": {listed(`{"type":1.5,"valuekey":"ns:web"}`), []hostedspec.Entry{odd}, ""},
		"a command of numbers":   {listed(`{"valuekey":"ns:web","startCmd":7}`), []hostedspec.Entry{odd}, ""},
		"a name of numbers":      {listed(`{"valuekey":7}`), nil, "an entry without a readable name: its entry in the agent's file has a value of an unknown form"},
		"an odd one first":       {listed(`{"valuekey":"ns:web","cpulmt":[]}`, nginx), []hostedspec.Entry{odd, nginxEntry}, ""},
		"GBK":                    {listed("{\"valuekey\":\"ns:web\",\"startCmd\":\"\xc6\xf4\xb6\xaf\"}"), []hostedspec.Entry{gbk}, ""},
		"GBK in a name":          {listed("{\"valuekey\":\"ns:\xc6\xf4\"}", nginx), nil, "an entry without a readable name"},
		"GBK through JSON":       {listed(`{"valuekey":"ns:web","startCmd":"` + "\uFFFD" + `"}`), []hostedspec.Entry{gbk}, ""},
		"GBK through PowerShell": {listed(`{"valuekey":"ns:web","startCmd":"\ufffd"}`), []hostedspec.Entry{gbk}, ""},
		"too long":               {strings.Repeat(" ", hostedspec.MaxBytes) + listed(), nil, "longer than 16 MiB"},
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range printedCases() {
		got := hostedspec.Parse(c.output)
		if diff := cmp.Diff(append([]hostedspec.Entry{}, c.want...), append([]hostedspec.Entry{}, got.Entries...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if (got.Why == "") != (c.why == "") || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: why is %q, want %q", name, got.Why, c.why)
		}
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]bool{
		"": false, "Welcome\n": false, "bk-hosted begin\n{": false, listed(nginx): true, "bk-hosted missing\n": true,
		"bk-hosted no-directory": true, "bk-hosted unreadable\n": true,
	} {
		if got := hostedspec.Whole(output); got != want {
			t.Errorf("%q is whole: %t", output, got)
		}
	}
}

// An output comes in parts. None of them says more than the whole.
func TestParse_inParts(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"read_hosted.sh", "read_hosted.ps1"} {
		script, err := os.ReadFile(source)
		fine(t, err)
		lines := regexp.MustCompile(`bk-hosted [a-z-]+`).FindAllString(string(script), -1)
		if len(lines) < 5 {
			t.Fatalf("%s prints %q", source, lines)
		}
		for _, line := range lines {
			for end := range line {
				if part := line[:end]; hostedspec.Whole(part) && !cmp.Equal(hostedspec.Parse(part), hostedspec.Parse(line)) {
					t.Errorf("%q is read as %+v, and %q as %+v", part, hostedspec.Parse(part), line, hostedspec.Parse(line))
				}
			}
		}
	}
}

// Whatever a script prints, either it was read or it says why not. Nothing that was cut off says
// that nothing is hosted.
func FuzzParse(f *testing.F) {
	for name, c := range printedCases() {
		if name != "too long" {
			f.Add(c.output, len(c.output)/2)
		}
	}
	f.Fuzz(func(t *testing.T, output string, cut int) {
		got := hostedspec.Parse(output)
		if got.Why != "" && got.Entries != nil {
			t.Errorf("%q has entries and a reason", output)
		}
		if got.Why == "" && !hostedspec.Whole(output) {
			t.Errorf("%q was read without its end", output)
		}
		before, _, begun := strings.Cut(output, "bk-hosted begin\n")
		if cut = len(before) + 17 + max(cut, 0)%(len(output)+1); !begun || strings.Contains(before, "bk-hosted") || cut >= len(output) {
			return
		}
		if got := hostedspec.Parse(output[:cut]); got.Why == "" && !hostedspec.Whole(output[:cut]) {
			t.Errorf("%q was read though it was cut off", output[:cut])
		}
	})
}

// fine ends the test if there is an error.
func fine(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestScripts_areTheContracts(t *testing.T) {
	t.Parallel()
	if hostedspec.ShellScript != contract.Script("read_hosted.sh") || hostedspec.PowerShellScript != contract.Script("read_hosted.ps1") {
		t.Error("copy the scripts to internal/contract/testdata/script")
	}
	_, list, _ := strings.Cut(hostedspec.ShellScript, `split("`)
	list, _, _ = strings.Cut(list, `"`)
	if keys := strings.ReplaceAll(list, " ", "|"); !strings.Contains(hostedspec.PowerShellScript, "'"+keys+"'") {
		t.Errorf("the scripts print other keys; the shell's are %s", keys)
	}
}

// shells are those of this machine, each with the awks that are there: they are not alike.
func shells(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{"sh": {"sh"}}
	if busybox, err := exec.LookPath("busybox"); err == nil {
		found["busybox"] = []string{"env", "PATH=", busybox, "sh"}
	}
	for _, awk := range []string{"mawk", "gawk", "original-awk"} {
		path, err := exec.LookPath(awk)
		if err != nil {
			continue
		}
		folder := t.TempDir()
		fine(t, os.Symlink(path, filepath.Join(folder, "awk")))
		found[awk] = []string{"env", "PATH=" + folder + ":" + os.Getenv("PATH"), "sh"}
	}
	return found
}

func run(t *testing.T, shell []string, file string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "read_hosted.sh")
	fine(t, os.WriteFile(script, []byte(hostedspec.ShellScript), 0o600))
	out, err := exec.CommandContext(t.Context(), shell[0], append(shell[1:], script, file)...).Output()
	fine(t, err)
	return string(out)
}

func TestShellScript(t *testing.T) {
	t.Parallel()
	const entry = `"valuekey":"ns:web","startCmd":"./start.sh \"a b\" \\","type":1`
	const kept = `{"proc":[{` + entry + `}]}`
	cases := map[string]struct{ file, want string }{
		"as agents write it":      {kept, kept},
		"empty":                   {"", ""},
		"on many lines":           {strings.ReplaceAll(kept, ",", ",\r\n\t "), strings.ReplaceAll(kept, ",", ",\t ")},
		"password":                {`{"proc":[{"password":"canary",` + entry + `}]}`, `{"proc":[{"-":"",` + entry + `}]}`},
		"with blanks":             {`{"userPwd" : "canary" }`, `{"-" : "" }`},
		"on lines of its own":     {"{\"userPwd\"\n:\n\"can\nary\"\n}", `{"-":""}`},
		"with quotes":             {`{"userPwd":"canary\"canary\\\"canary"}`, `{"-":""}`},
		"ends in a backslash":     {`{"userPwd":"canary\\","type":2}`, `{"-":"","type":2}`},
		"number":                  {`{"password":12345678,"cpulmt":-1.5e+2}`, `{"-":0,"cpulmt":-1.5e+2}`},
		"list":                    {`{"password":["canary",12345678,{"type":"x"}]}`, `{"-":["",0,{"type":"x"}]}`},
		"object":                  {`{"password":{"canary":"canary"}}`, `{"-":{"-":""}}`},
		"key in escapes":          {`{"\u0070assword":"canary","p\u0061ssword":"canary"}`, `{"-":"","-":""}`},
		"key in capitals":         {`{"PASSWORD":"canary","user_pwd":"canary"}`, `{"-":"","-":""}`},
		"unknown key":             {`{"token":"canary","nested":{"a":true}}`, `{"-":"","-":{"-":0}}`},
		"list under a known key":  {`{"startCmd":["canary"]}`, `{"startCmd":[""]}`},
		"no colon":                {`{"password" "canary", "password","canary"}`, `{"" "", "",""}`},
		"no quotes":               {`{password:canary,"userPwd":canary}`, `{0:0,"-":0}`},
		"single quotes":           {`{'password':'canary','userPwd':'a"canary"'}`, `{0:0,0:0""0}`},
		"quote before the text":   {`a " {"password":"canary","type":1}`, `0 ""0""0""0`},
		"text around it":          {"canary " + kept + " canary", "0 " + kept + " 0"},
		"ends within a secret":    {`{"proc":[{"type":1,"password":"canary`, `{"proc":[{"type":1,"-":`},
		"ends within a key":       {`{"proc":[{"type":1,"startC`, `{"proc":[{"type":1,`},
		"ends within a command":   {`{"startCmd":"./st`, `{"startCmd":`},
		"UTF-16":                  {"\xff\xfe" + strings.Join(strings.Split(`{"password":"canary","type":1}`, ""), "\x00") + "\x00", `0{"-":"","type":1}`},
		"GBK that escapes":        {"{\"startCmd\":\"\x95\x5c\",\"password\":\"canary\"}", "{\"startCmd\":\"\x95\x5c\",\"0\"\"0"},
		"UTF-8":                   {`{"startCmd":"启动 %s %d"}`, `{"startCmd":"启动 %s %d"}`},
		"secret in a known key's": {`{"startCmd":"x","startCmd" :"y" ,"password":"canary"}`, `{"startCmd":"x","startCmd" :"y" ,"-":""}`},
	}
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for title, c := range cases {
				file := filepath.Join(t.TempDir(), ".proc")
				fine(t, os.WriteFile(file, []byte(c.file), 0o600))
				got := run(t, shell, file)
				if strings.Contains(got, "canary") || strings.Contains(got, "12345678") {
					t.Errorf("%s: a secret leaves the host: %s", title, got)
				}
				if want := "bk-hosted begin\n" + c.want + "\nbk-hosted end\n"; got != want {
					t.Errorf("%s:\ngot  %q\nwant %q", title, got, want)
				}
			}
		})
	}
}

func TestShellScript_withoutAFile(t *testing.T) {
	t.Parallel()
	for name, shell := range shells(t) {
		folder := t.TempDir()
		fine(t, os.Symlink("nowhere", filepath.Join(folder, "link")))
		for file, want := range map[string]string{
			filepath.Join(folder, ".proc"):      "missing",
			filepath.Join(folder, "x", ".proc"): "no-directory",
			".proc":                             "no-directory",
			folder:                              "unreadable",
			filepath.Join(folder, "link"):       "unreadable",
		} {
			if got := run(t, shell, file); got != "bk-hosted "+want+"\n" {
				t.Errorf("%s: %s is %q, want %s", name, file, got, want)
			}
		}
	}
}

// Script and parser keep what agents write unchanged.
func TestShellScript_parses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), ".proc")
	fine(t, os.WriteFile(file, []byte(`{"proc":[`+strings.Replace(nginx, `"-":""`, `"password":"canary"`, 1)+"\n]}"), 0o600))
	for name, shell := range shells(t) {
		if got := hostedspec.Parse(run(t, shell, file)); got.Why != "" || len(got.Entries) != 1 || got.Entries[0] != nginxEntry {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Many entries take no time, so script and parser read as they print.
func TestShellScript_withManyEntries(t *testing.T) {
	t.Parallel()
	entries := make([]string, 4_000)
	for i := range entries {
		entries[i] = fmt.Sprintf(`{"valuekey":"ns:web-%d","password":"canary","startCmd":"%s"}`, i, strings.Repeat("x", 500))
	}
	file := filepath.Join(t.TempDir(), ".proc")
	fine(t, os.WriteFile(file, []byte(`{"proc":[`+strings.Join(entries, ",")+"]}"), 0o600))
	for name, shell := range shells(t) {
		got := run(t, shell, file)
		read := hostedspec.Parse(got).Entries
		if len(read) != len(entries) || read[len(read)-1].Name != "web-3999" || strings.Contains(got, "canary") {
			t.Errorf("%s: %d of %d entries", name, len(read), len(entries))
		}
	}
}

// The script goes where its system has it, and a reason has the call that said so.
func TestSource(t *testing.T) {
	t.Parallel()
	for path, windows := range map[string]bool{`\\host\x`: true, "d:/app": true, "/srv": false, "x": false} {
		run := hostedspec.Source{}.On(hostedspec.IsWindows(path))
		if hostedspec.IsWindows(path) != windows || strings.HasSuffix(run.Name, ".ps1") != windows || !strings.HasSuffix(run.Command, run.Path) {
			t.Errorf("%s: %+v", path, run)
		}
	}
	for want, reading := range map[string]hostedspec.Reading{
		"": {Call: "task 1"}, "away": {Why: "away"}, "away (task 1)": {Why: "away", Call: "task 1"}, "away (code 117, task 1)": {Why: "away (code 117)", Call: "task 1"},
	} {
		if got := reading.Reason(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
