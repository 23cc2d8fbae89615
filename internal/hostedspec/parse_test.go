package hostedspec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		"nothing hosted":         {listed(), nil, ""},
		"null":                   {printed(`{"proc":null}`), nil, ""},
		"text around the object": {printed(`0 0 {"proc":[{"valuekey":"ns:web"}]} 0 {`), []hostedspec.Entry{web}, ""},
		"text around the marks":  {"Welcome\nto hostbk-hosted begin\r\n" + `{"proc":[]}` + "\r\nbk-hosted end\r\nbye\nbk-hosted missing", nil, ""},
		"on many lines":          {printed("{\"proc\":\n[{\"valuekey\":\"ns:\nweb\"}]\n}"), []hostedspec.Entry{web}, ""},
		"no file":                {"Welcome\nbk-hosted missing\n", nil, ""},
		"no directory":           {"bk-hosted missing-directory\n", nil, "another path than this agent"},
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
		"bk-hosted missing-directory": true, "bk-hosted unreadable\n": true,
	} {
		if got := hostedspec.Whole(output); got != want {
			t.Errorf("%q is whole: %t", output, got)
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
