package core_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

const host = "0:10.0.0.1"

var shellScript, powerShellScript = contract.Script("read_hosted.sh"), contract.Script("read_hosted.ps1")

func TestScript_isTheContracts(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"read_hosted.sh": shellScript, "read_hosted.ps1": powerShellScript} {
		got, err := os.ReadFile(name)
		simtest.Check(t, err == nil && string(got) == want, "copy internal/contract/testdata/script/%s here: %v", name, err)
	}
}

// The script's output on a virtual host is the same as on a real one.
func TestScript_printsWhatItPrints(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Do(simulator.OpStart, "10.0.0.1")
	dir := t.TempDir()
	script, file := filepath.Join(dir, "read.sh"), filepath.Join(dir, "agent", "etc", ".proc")
	simtest.Must(t, os.WriteFile(script, []byte(shellScript), 0o600))
	compare := func(name string, odd simulator.ProcFile) {
		t.Helper()
		odd.Path = file
		c.Sim.SetProcFile(host, odd)
		simtest.Must(t, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(c.Sim.ProcFile(host)), 0o600))
		switch odd.Odd {
		case "missing":
			_ = os.Remove(file)
		case "missing-directory":
			_ = os.RemoveAll(filepath.Dir(file))
		case "unreadable":
			_ = os.Remove(file)
			_ = os.Mkdir(file, 0o700) // root can read any file
			defer func() { _ = os.Remove(file) }()
		case "banner":
			return // the profile prints the banner, not the script
		}
		want, err := exec.CommandContext(t.Context(), "sh", script, file).Output()
		simtest.Must(t, err)
		simtest.Want(t, name, c.Screen(shellScript, file, host), string([]rune(string(want))))
	}
	compare("as agents write it", simulator.ProcFile{})
	for _, odd := range simulator.OddFiles() {
		compare(odd, simulator.ProcFile{Odd: odd})
	}
	parts := []string{`"`, `\`, `:`, ` `, "\t", "\n", "\r\n", "\x00", ",", "{", "}", "[", "]", "1", "-1.5e+2", "true", "x", `"type"`, `"proc"`, `"password"`, "\xc6\xf4", "启动", "\x1f", "\v"}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // texts for a test
	rounds := 60
	if testing.Short() { // as in make test
		rounds = 20
	}
	for range rounds {
		text := ""
		for range random.IntN(24) {
			text += parts[random.IntN(len(parts))]
		}
		compare(fmt.Sprintf("%q", text), simulator.ProcFile{Text: &text})
	}
}

func entry(t *testing.T, sim *simulator.Server, addr string) map[string]any {
	t.Helper()
	text := sim.ProcFile(addr)
	var file struct{ Proc []map[string]any }
	if err := json.Unmarshal([]byte(text), &file); err != nil || len(file.Proc) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	return file.Proc[0]
}

// An entry has what the process was hosted with, as in real files.
func TestProcFile_entry(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	c.Do(simulator.OpRestart, "10.0.0.1")
	want := `{"proc":[{"procName":"nginx","setupPath":"/opt/nginx","pidPath":"/run/nginx.pid","contact":"web",` +
		`"startCmd":"./start.sh","stopCmd":"./stop.sh","restartCmd":"./restart.sh","reloadCmd":"./reload.sh","killCmd":"./kill.sh","versionCmd":"","healthCmd":"",` +
		`"type":1,"cpulmt":0,"memlmt":0,"user":"root","password":"\"\\canary-of-password","userPwd":":::root@@@\"\\canary-of-user-pwd","valuekey":"web:nginx",` +
		`"startCheckBeginTime":5,"startCheckEndTime":0,"opTimeOut":60,"operateType":7,"timestamp":1700000000}]}` + "\n"
	simtest.Want(t, "what the file has", c.Sim.ProcFile(host), want)
	screen := c.Screen(shellScript, simulator.DefaultProcPath, host)
	if strings.Contains(screen, simulator.SecretPassword) || strings.Contains(screen, simulator.SecretUserPwd) || !strings.Contains(screen, `"stopCmd":"./stop.sh"`) {
		t.Errorf("screen: %s", screen)
	}
}

func TestProcFile_followsTheHosting(t *testing.T) {
	t.Parallel()
	const other = `{"identity":{"proc_name":"other","setup_path":"/opt","pid_path":"/run/o.pid","user":"www"},"resource":{"cpu":30.5,"mem":10},"monitor_policy":{"auto_type":2,"start_check_secs":9,"op_timeout":7}}`
	call := func(apis ...string) func(c *simtest.Client) {
		return func(c *simtest.Client) {
			for _, api := range apis {
				c.Call(api, "10.0.0.1")
			}
		}
	}
	do := func(ops ...int) func(c *simtest.Client) {
		return func(c *simtest.Client) {
			for _, op := range ops {
				c.Do(op, "10.0.0.1")
			}
		}
	}
	somebody := func(c *simtest.Client) {
		simtest.Must(c.T, c.Sim.Register(host, "web", "nginx", nil, other), c.Sim.Host(host, "web", "nginx"))
	}
	const byNginx = "nginx web:nginx web root 0 0 1 5 60 "
	for name, test := range map[string]struct {
		hosts bool // a registration hosts
		do    func(c *simtest.Client)
		want  string // the entry, "" for no file
	}{
		"nothing":               {do: call()},
		"registered":            {do: call("register_proc_info")},
		"registered and hosted": {hosts: true, do: call("register_proc_info"), want: "nginx web:nginx web root 30.5 10 1 5 60 3"},
		"hosted":                {do: do(simulator.OpHost), want: byNginx + "3"},
		"started":               {do: do(simulator.OpStart), want: byNginx + "0"},
		"reloaded":              {do: do(simulator.OpReload)},
		"unhosted":              {do: do(simulator.OpHost, simulator.OpUnhost)},
		"unregistered":          {hosts: true, do: call("register_proc_info", "unregister_proc_info")},
		"stopped":               {do: do(simulator.OpStart, simulator.OpStop)},
		"by somebody else":      {do: somebody, want: "other web:nginx web www 30.5 10 2 9 7 3"},
		"updated":               {do: func(c *simtest.Client) { somebody(c); call("update_proc_info")(c) }, want: "nginx web:nginx web root 30.5 10 1 5 60 3"},
		"through JOB": {
			do:   func(c *simtest.Client) { c.JobDo(simulator.OpHost, `,"contact":"mapleleaf"`) },
			want: "nginx /opt/nginx/nginx mapleleaf root 0 0 1 5 60 3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t, &simulator.Server{RegisterHosts: test.hosts})
			test.do(c)
			if test.want == "" {
				simtest.Want(t, "file", c.Sim.ProcFile(host), "")
				return
			}
			e := entry(t, c.Sim, host)
			var got []string
			for _, field := range []string{"procName", "valuekey", "contact", "user", "cpulmt", "memlmt", "type", "startCheckBeginTime", "opTimeOut", "operateType"} {
				got = append(got, fmt.Sprint(e[field]))
			}
			simtest.Want(t, "entry", strings.Join(got, " "), test.want)
		})
	}
}

// Changes by hand stay until an operation writes the entry, and survive a restart of the simulator.
func TestProcFile_byHand(t *testing.T) {
	t.Parallel()
	live := simtest.Lives(t, func(sim *simulator.Server) { sim.AddHost(host) })
	c := live()
	simtest.WantError(t, c.Sim.EditProc(host, "web", "nginx", map[string]any{"stopCmd": "x"}), "")
	c.Do(simulator.OpHost, "10.0.0.1")
	simtest.Must(t,
		c.Sim.EditProc(host, "web", "nginx", map[string]any{"stopCmd": "./stop.sh -9", "memlmt": 50}),
		c.Sim.EditProc(host, "web", "nginx", map[string]any{"healthCmd": nil}),
		c.Sim.AddProc(host, `{"procName":"nginx","pidPath":"/run/nginx.pid","contact":"web","valuekey":"web:old"}`),
	)
	c.Sim.SetProcFile(host, simulator.ProcFile{Path: "/opt/agent/.proc"})
	c = live()
	simtest.WantError(t, c.Sim.AddProc(host, `[]`), "")
	text := c.Sim.ProcFile(host)
	if !strings.Contains(text, `"stopCmd":"./stop.sh -9"`) || !strings.Contains(text, `"memlmt":50`) || strings.Contains(text, "healthCmd") || !strings.Contains(text, "web:old") {
		t.Errorf("file: %s", text)
	}
	simtest.Want(t, "the file is elsewhere", c.Screen(shellScript, simulator.DefaultProcPath, host), "bk-hosted no-directory\n")
	c.Do(simulator.OpHost, "10.0.0.1")
	unhost := strings.Replace(simtest.GatewayBody(simulator.OpUnhost, "{}", simtest.CloudHosts("10.0.0.1")), `"name":"nginx"`, `"name":"old"`, 1)
	for _, want := range []int{0, 829} {
		id, _ := c.Send("operate_proc_v2", unhost).Data["task_id"].(string)
		simtest.WantCode(t, "unhosting the entry", simtest.VerdictOf(t, c.Poll(id).Data, "0:10.0.0.1:web:old"), want)
	}
	e := entry(t, c.Sim, host)
	simtest.Want(t, "what an operation has written", fmt.Sprint(e["stopCmd"], " ", e["memlmt"]), "./stop.sh 0")
}

// BSCP and GSEKit print the whole file. A script for another system does not run.
func TestScript_others(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Do(simulator.OpHost, "10.0.0.1")
	text := c.Sim.ProcFile(host)
	const windows = `c:\gse2_bkte\agent\etc\.proc`
	for name, test := range map[string]struct{ at, script, file, want string }{
		"cat":                {"", "cat /usr/local/gse2_bkte/agent/etc/.proc", "", text},
		"cat with a shebang": {"", "#!/bin/bash\ncat /usr/local/gse2_bkte/agent/etc/.proc\n", "", text},
		"cat elsewhere":      {"", "cat /usr/local/gse2_cloud/agent/etc/.proc", "", "cat: /usr/local/gse2_cloud/agent/etc/.proc: No such file or directory\n"},
		"type":               {windows, `type C:\GSE2_bkte\agent\etc\.proc`, "", text},
		"another file there": {"", shellScript, "/usr/local/gse2_bkte/agent/etc/other", "bk-hosted missing\n"},
		"for Windows":        {"", powerShellScript, simulator.DefaultProcPath, "command not found\n"},
		"for Linux":          {windows, shellScript, simulator.DefaultProcPath, "command not found\n"},
		"no such folder":     {windows, powerShellScript, `'c:\gse2_cloud\agent\etc\.proc'`, "bk-hosted no-directory\r\n"},
	} {
		c.Sim.SetProcFile(host, simulator.ProcFile{Path: test.at})
		simtest.Want(t, name, c.Screen(test.script, test.file, host), test.want)
	}
	c.Sim.SetProcFile(host, simulator.ProcFile{Path: windows, Odd: "gbk"})
	c.Sim.Inject(simulator.Fault{Code: new(0), Content: "odd", Times: 1})
	simtest.Want(t, "a fault", c.Screen(powerShellScript, `'c:\gse2_bkte\agent\etc\.proc'`, host), "odd")
	c.Sim.Inject(simulator.Fault{ScriptStatus: 3, Times: 1})
	rows := c.Screens(c.RunScript(powerShellScript, `'c:\gse2_bkte\agent\etc\.proc'`, host), 0, 0, host)
	simtest.Want(t, "status of a fault", rows[0]["status"], any(3.0))
	got := c.Screen(powerShellScript, `'c:\gse2_bkte\agent\etc\.proc'`, host)
	simtest.Check(t, strings.HasPrefix(got, "bk-hosted begin\r\n{") && strings.Contains(got, `\ufffd`) && !strings.Contains(got, "canary"),
		"on Windows: %s", got)
}
