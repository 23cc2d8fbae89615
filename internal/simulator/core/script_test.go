package core_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
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

// The scripts that run here are those of package contract.
func TestScript_isTheContracts(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"read_hosted.sh": shellScript, "read_hosted.ps1": powerShellScript} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("copy internal/contract/testdata/script/%s here: %v", name, err)
		}
	}
}

// The script's output on a virtual host is the same as on a real one.
func TestScript_printsWhatItPrints(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Do(simulator.OpStart, "10.0.0.1")
	file := filepath.Join(t.TempDir(), "agent", "etc", ".proc")
	compare := func(name string, odd simulator.ProcFile) {
		t.Helper()
		odd.Path = file
		c.Sim.SetProcFile(host, odd)
		text := c.Sim.ProcFile(host)
		if err := errorsOf(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
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
			return // then the script does not print it
		}
		script := filepath.Join(t.TempDir(), "read.sh")
		if err := os.WriteFile(script, []byte(shellScript), 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := exec.CommandContext(t.Context(), "sh", script, file).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Screen(shellScript, file, host); got != string([]rune(string(want))) {
			t.Errorf("%s: got\n%.2000s\nwant\n%.2000s", name, got, want)
		}
	}
	compare("as agents write it", simulator.ProcFile{})
	for _, odd := range simulator.OddFiles() {
		compare(odd, simulator.ProcFile{Odd: odd})
	}
	parts := []string{`"`, `\`, `:`, ` `, "\t", "\n", "\r\n", "\x00", ",", "{", "}", "[", "]", "1", "-1.5e+2", "true", "x", `"type"`, `"proc"`, `"password"`, "\xc6\xf4", "启动", "\x1f", "\v"}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // texts for a test
	for range 60 {
		var text strings.Builder
		for range random.IntN(24) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		all := text.String()
		compare(fmt.Sprintf("%q", all), simulator.ProcFile{Text: &all})
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// entry is the only entry of a host's file.
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
	if got := c.Sim.ProcFile(host); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	screen := c.Screen(shellScript, simulator.DefaultProcPath, host)
	if strings.Contains(screen, simulator.SecretPassword) || strings.Contains(screen, simulator.SecretUserPwd) || !strings.Contains(screen, `"stopCmd":"./stop.sh"`) {
		t.Errorf("screen: %s", screen)
	}
}

// The file has what is hosted, however it was hosted.
func TestProcFile_followsTheHosting(t *testing.T) {
	t.Parallel()
	const other = `{"identity":{"proc_name":"other","setup_path":"/opt","pid_path":"/run/o.pid","user":"www"},"resource":{"cpu":30.5,"mem":10},"monitor_policy":{"auto_type":2,"start_check_secs":9,"op_timeout":7}}`
	act := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	is := func(name string, op int) string { return fmt.Sprintf("%s %d", name, op) }
	for name, test := range map[string]struct {
		knob func(*simulator.Server)
		do   func(c *simtest.Client)
		want string // procName and operateType, "" for no file
	}{
		"nothing":               {do: func(*simtest.Client) {}},
		"registered":            {do: func(c *simtest.Client) { c.Call("register_proc_info", "10.0.0.1") }},
		"registered and hosted": {knob: func(s *simulator.Server) { s.RegisterHosts = true }, do: func(c *simtest.Client) { c.Call("register_proc_info", "10.0.0.1") }, want: is("nginx", 3)},
		"hosted":                {do: func(c *simtest.Client) { c.Do(simulator.OpHost, "10.0.0.1") }, want: is("nginx", 3)},
		"started":               {do: func(c *simtest.Client) { c.Do(simulator.OpStart, "10.0.0.1") }, want: is("nginx", 0)},
		"reloaded":              {do: func(c *simtest.Client) { c.Do(simulator.OpReload, "10.0.0.1") }},
		"unhosted":              {do: func(c *simtest.Client) { c.Do(simulator.OpHost, "10.0.0.1"); c.Do(simulator.OpUnhost, "10.0.0.1") }},
		"unregistered": {knob: func(s *simulator.Server) { s.RegisterHosts = true }, do: func(c *simtest.Client) {
			c.Call("register_proc_info", "10.0.0.1")
			c.Call("unregister_proc_info", "10.0.0.1")
		}},
		"stopped": {do: func(c *simtest.Client) { c.Do(simulator.OpStart, "10.0.0.1"); c.Do(simulator.OpStop, "10.0.0.1") }},
		"by somebody else": {do: func(c *simtest.Client) {
			act(c.Sim.Register(host, "web", "nginx", nil, other))
			act(c.Sim.Host(host, "web", "nginx"))
		}, want: is("other", 3)},
		"updated": {do: func(c *simtest.Client) {
			act(c.Sim.Register(host, "web", "nginx", nil, other))
			act(c.Sim.Host(host, "web", "nginx"))
			c.Call("update_proc_info", "10.0.0.1")
		}, want: is("nginx", 3)},
		"through JOB": {do: func(c *simtest.Client) { c.JobDo(simulator.OpHost, `,"contact":"mapleleaf"`) }, want: is("nginx", 3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			if test.knob != nil {
				test.knob(sim)
			}
			c := simtest.NewVirtual(t, sim)
			test.do(c)
			if test.want == "" {
				if text := c.Sim.ProcFile(host); text != "" {
					t.Errorf("file: %s", text)
				}
				return
			}
			e := entry(t, c.Sim, host)
			if got := fmt.Sprintf("%v %v", e["procName"], e["operateType"]); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if name == "through JOB" && (e["valuekey"] != "/opt/nginx/nginx" || e["contact"] != "mapleleaf") {
				t.Errorf("entry: %v", e)
			}
			if name == "by somebody else" && fmt.Sprint(e["user"], e["cpulmt"], e["memlmt"], e["type"], e["startCheckBeginTime"], e["opTimeOut"]) != "www30.5 10 2 9 7" {
				t.Errorf("entry: %v", e)
			}
		})
	}
}

// Changes by hand stay until an operation writes the entry, and survive a restart of the simulator.
func TestProcFile_byHand(t *testing.T) {
	t.Parallel()
	live := simtest.Lives(t, func(sim *simulator.Server) { sim.AddHost(host) })
	c := live()
	if err := c.Sim.EditProc(host, "web", "nginx", map[string]any{"stopCmd": "x"}); err == nil {
		t.Error("an entry that is not there was changed")
	}
	c.Do(simulator.OpHost, "10.0.0.1")
	for _, fields := range []map[string]any{{"stopCmd": "./stop.sh -9", "memlmt": 50}, {"healthCmd": nil}} {
		if err := c.Sim.EditProc(host, "web", "nginx", fields); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Sim.AddProc(host, `{"procName":"nginx","pidPath":"/run/nginx.pid","contact":"web","valuekey":"web:old"}`); err != nil {
		t.Fatal(err)
	}
	c.Sim.SetProcFile(host, simulator.ProcFile{Path: "/opt/agent/.proc"})
	c = live()
	if err := c.Sim.AddProc(host, `[]`); err == nil {
		t.Error("an entry that is no object was added")
	}
	text := c.Sim.ProcFile(host)
	if !strings.Contains(text, `"stopCmd":"./stop.sh -9"`) || !strings.Contains(text, `"memlmt":50`) || strings.Contains(text, "healthCmd") || !strings.Contains(text, "web:old") {
		t.Errorf("file: %s", text)
	}
	if screen := c.Screen(shellScript, simulator.DefaultProcPath, host); screen != "bk-hosted missing-directory\n" {
		t.Errorf("the file is elsewhere: %s", screen)
	}
	c.Do(simulator.OpHost, "10.0.0.1")
	unhost := strings.NewReplacer(`"name":"nginx"`, `"name":"old"`).Replace(simtest.Meta(`{}`))
	for _, want := range []float64{0, 829} {
		task := c.Send("operate_proc_v2", fmt.Sprintf(`{%s,%s,"op_type":4,"spec":%s}`, unhost, simtest.CloudHosts("10.0.0.1"), simtest.OperateSpec))
		result := c.Send("get_proc_operate_result_v2", fmt.Sprintf(`{"task_id":%q}`, task.Data["task_id"]))
		if v := simtest.VerdictOf(t, result.Data, "0:10.0.0.1:web:old"); float64(v.Code) != want {
			t.Errorf("op 4 of the entry: %+v, want %v", v, want)
		}
	}
	if e := entry(t, c.Sim, host); e["stopCmd"] != "./stop.sh" || e["memlmt"] != 0.0 {
		t.Errorf("an operation has not written the entry: %v", e)
	}
}

// A machine with two names has one file, and one entry of a process.
func TestProcFile_ofTwoNames(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		sim := &simulator.Server{EntryPerName: apart}
		sim.AddAgent(simtest.AgentA, host)
		c := simtest.NewClient(t, sim)
		for _, name := range []string{host, simtest.AgentA, host} {
			spec := fmt.Sprintf(`{"identity":{"proc_name":%q},"monitor_policy":{"auto_type":1}}`, name)
			if err := errorsOf(sim.Register(name, "web", "nginx", nil, spec), sim.Host(name, "web", "nginx")); err != nil {
				t.Fatal(err)
			}
			if e := entry(t, sim, host); e["procName"] != name {
				t.Errorf("apart %t, after %s: %v", apart, name, e)
			}
		}
		for _, name := range []string{host, simtest.AgentA} {
			if screen := c.Screen(shellScript, simulator.DefaultProcPath, name); strings.Count(screen, "valuekey") != 1 {
				t.Errorf("apart %t, by %s: %s", apart, name, screen)
			}
		}
	}
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
		"no such folder":     {windows, powerShellScript, `'c:\gse2_cloud\agent\etc\.proc'`, "bk-hosted missing-directory\r\n"},
	} {
		c.Sim.SetProcFile(host, simulator.ProcFile{Path: test.at})
		if got := c.Screen(test.script, test.file, host); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	c.Sim.SetProcFile(host, simulator.ProcFile{Path: windows, Odd: "gbk"})
	got := c.Screen(powerShellScript, `'c:\gse2_bkte\agent\etc\.proc'`, host)
	if !strings.HasPrefix(got, "bk-hosted begin\r\n{") || !strings.Contains(got, `\ufffd`) || strings.Contains(got, "canary") {
		t.Errorf("on Windows: %s", got)
	}
}

// BenchmarkScript reads 10,000 hosts by ten tasks, with one poll each.
func BenchmarkScript(b *testing.B) {
	sim := &simulator.Server{}
	sim.Admit(netip.MustParsePrefix("10.0.0.0/16"))
	b.Cleanup(func() { _ = sim.Close() })
	post := func(api, body string) string {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, simtest.GatewayStage+"/api/v2/"+api, strings.NewReader(body))
		r.RemoteAddr, r.Host = "127.0.0.1:1", "127.0.0.1"
		r.Header.Set("X-Bkapi-Authorization", simtest.GatewayAuth)
		w := httptest.NewRecorder()
		sim.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatalf("%s: %d %.300s", api, w.Code, w.Body)
		}
		return w.Body.String()
	}
	tasks := make([][]string, 10)
	for i := range tasks {
		var addresses []string
		for j := range 1000 {
			ip := fmt.Sprintf("10.0.%d.%d", (i*1000+j)/250, (i*1000+j)%250)
			tasks[i], addresses = append(tasks[i], "0:"+ip), append(addresses, ip)
		}
		post("proc/operate_proc_multi", `{"proc_operate_req":[`+simtest.GatewayBody(simulator.OpHost, `{}`, simtest.CloudHosts(addresses...))+`]}`)
	}
	for b.Loop() {
		for _, hosts := range tasks {
			started := post("task/extensions/async_execute_script", simtest.ScriptBody(shellScript, simulator.DefaultProcPath, hosts...))
			_, id, _ := strings.Cut(started, `"task_id":"`)
			id, _, _ = strings.Cut(id, `"`)
			if answer := post("task/extensions/get_execute_script_result", simtest.ScreensBody(id, 0, 0, hosts...)); strings.Count(answer, "bk-hosted end") != len(hosts) {
				b.Fatalf("%.500s", answer)
			}
		}
	}
}
