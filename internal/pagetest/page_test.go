// Package pagetest uses the simulator's page as a person does: in a browser, while the provider works on the fleet.
package pagetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// Expressions for what a test looks for in the page.
const (
	connection = `document.querySelector("#link").textContent`
	cells      = `document.querySelectorAll("#fleet [role=option]")`
	words      = `document.querySelector("#fleet .group header .quiet").textContent`
)

func shown(state string) string {
	return fmt.Sprintf(`document.querySelectorAll("#fleet .%s").length`, state)
}

func counted(state string) string {
	return fmt.Sprintf(`document.querySelector("#legend-%s b").textContent`, state)
}

func day(label string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#days button")].find(b => b.textContent.startsWith(%q))`, label)
}

func pressed(label string) string { return day(label) + `.getAttribute("aria-pressed")` }

func look(t *testing.T, sim *providertest.Sim, n int) *tab {
	t.Helper()
	running(t, sim, 1, n)
	b := newTab(t)
	b.open(sim.URL + "/")
	b.sees(connection, "live")
	return b
}

func running(t *testing.T, sim *providertest.Sim, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		host := providertest.Address(n)
		simtest.Must(t,
			sim.Register(host, "web", "nginx", nil, `{"identity":{"proc_name":"nginx","setup_path":"/srv/web","pid_path":"/srv/web/nginx.pid","user":"root"},"control":{"start_cmd":"./start.sh"},"monitor_policy":{"auto_type":1}}`),
			sim.Host(host, "web", "nginx"), sim.StartProcess(host, "web", "nginx"),
		)
	}
}

// A rolling restart runs over a thousand hosts. Ten of them are broken with the mouse, and the wave that reaches them is the last.
func TestPage_rollingRestart(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	b := look(t, sim, 1000)
	b.sees(shown("running"), "1000")
	b.sees(shown("fresh"), "0")

	p := sim.Configured(t)
	hosts := make(map[string]string)
	for _, n := range providertest.HostNumbers(1000) {
		hosts[fmt.Sprintf("web-%d", n)] = providertest.Address(n)
	}
	ended := make(chan string, 1)
	go func() {
		_, end := p.Invoke(t.Context(), providertest.ActionType, providertest.Invocation("restart", 0, map[string]any{
			"hosts": hosts, "rollout": map[string]any{"batch_size": 50, "pause": "400ms", "max_failed_hosts": 5},
		}))
		ended <- end
	}()
	b.sees(shown("fresh")+` >= 150`, "true") // all of it by one request, the stream
	b.sees(`JSON.stringify(performance.getEntriesByType("resource").filter(e => !e.name.endsWith("/_sim/stream")).map(e => e.name))`, "[]")
	b.drag(cells+"[705]", cells+"[714]")
	b.sees(`document.querySelectorAll("#fleet [aria-selected=true]").length`, "10")
	b.click(day("Agent does not answer"))
	b.sees(shown("away"), "10")
	b.sees(shown("fresh")+` >= 600`, "true")
	b.shoot("rolling-restart-under-way")

	end := ""
	select {
	case end = <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the restart does not end")
	}
	providertest.Check(t, strings.Contains(end, "117"), "it ended with %q", end)
	b.sees(words, "1,000 hosts · 990 running · 10 agent away · latest: restart done on 740, failed on 10 (117)")
	b.sees(counted("failed"), "10")
	b.sees(shown("fresh"), "750")
	b.sees(`document.querySelector("#on").textContent`, "Agent does not answer10 hosts · applied 10 timesEnd")
	b.size(1280, 800)
	b.shoot("simulator-rolling-restart")
	for _, e := range sim.Executions() {
		if e.Action == "restart" && e.Host == providertest.Address(751) {
			t.Error("the wave did not stop")
		}
	}

	// A host that was broken by hand is repaired by hand.
	b.click(day("Agent does not answer"))
	b.sees(shown("away"), "0")
	b.sees(pressed("Agent does not answer"), "false")
}

// Everything can be done without a mouse, and has a name for screen readers.
func TestPage_byKeyboard(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	b := look(t, sim, 30)
	b.sees(shown("running"), "30")
	const names = `[...document.querySelectorAll("button, input, textarea, [role=listbox], [role=option], dialog, svg")].filter(e => e.checkVisibility() && !(e.ariaLabel || e.textContent.trim() || e.labels && e.labels.length)).length`
	b.sees(names, "0")
	b.eval(`document.querySelector("#fleet [role=listbox]").focus()`)
	b.press("ArrowRight", 0)
	b.press(" ", 0)
	b.press("ArrowRight", 8)
	const selected = `[...document.querySelectorAll("#fleet [aria-selected=true]")].map(e => e.ariaLabel.split(":").slice(0, 2).join(":")).join()`
	b.sees(selected, "0:10.0.0.3,0:10.0.0.4")
	b.sees(`document.getElementById(document.activeElement.getAttribute("aria-activedescendant")).ariaLabel`, "0:10.0.0.4: running and hosted")
	b.eval(day("The process dies") + ".focus()")
	b.press("Enter", 0)
	b.eval(day("The process dies") + ".click()")
	b.sees(counted("stopped"), "2")
	sim.Tick()
	b.sees(counted("stopped"), "0")
	b.eval(day("A colleague unregisters it") + ".click()")
	b.sees(counted("unhosted"), "2")
	b.sees(`document.querySelector("#said").textContent`, "A colleague unregisters it: 2 hosts")
	b.eval(`document.querySelector("#fleet [role=listbox]").focus()`)
	b.press("Escape", 0)
	b.sees(selected, "")
	b.press("a", 2)
	b.sees(`document.querySelectorAll("#fleet [aria-selected=true]").length`, "30")
}

// An opened call shows both bodies, without secrets.
func TestPage_opensACall(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	b := look(t, sim, 3)
	p := sim.Configured(t)
	if _, end := p.Invoke(t.Context(), providertest.ActionType, providertest.Invocation("restart", 3, nil)); end != "" {
		t.Fatal(end)
	}
	b.sees(`document.querySelectorAll("#calls .change").length`, "1")
	b.sees(`document.querySelector("#fleet .card").offsetWidth > 200`, "true")
	b.sees(`[...document.querySelectorAll("#fleet .card")].filter(c => c.textContent.includes("restart done")).length`, "3")
	b.shoot("three-hosts")
	b.click(`document.querySelector("#calls .change button")`)
	b.sees(`document.querySelector("#call-response").textContent.includes('"task_id": "GSETASK')`, "true")
	b.sees(`/"bk_app_secret": "\*\*\*"/.test(document.querySelector("#call-request").textContent)`, "true")
	b.sees(fmt.Sprintf(`document.body.textContent.includes(%q)`, simulator.DefaultAppSecret+`"`), "false")
	b.shoot("call")
	b.press("Escape", 0)
	b.sees(`document.querySelector("#call").open`, "false")
}

// Every fault that the control endpoint accepts can be typed, and a refusal is shown. Names in a call are shown as text, whatever they contain.
func TestPage_takesAnyFault(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	b := look(t, sim, 1)
	simtest.Must(t, sim.Register(providertest.Address(2), "<b id=xss>", "nginx", nil, ""))
	b.sees(`[...document.querySelectorAll("#fleet h3")].some(h => h.textContent === "<b id=xss>:nginx") && !document.querySelector("#xss")`, "true")
	inject := func(fault string) {
		b.eval(`document.querySelector("details").open = true; document.querySelector("textarea").value = ` + "`" + fault + "`; " + `document.querySelector("details button").click()`)
	}
	inject(`{"op": 7, "cod": 1}`)
	b.sees(`document.querySelector("details .error").textContent`, `json: unknown field "cod"`)
	inject(`{"op": 7, "code": 836}`)
	b.sees(`document.querySelector("#on b").textContent`, `{"op":7,"code":836}`)
	b.eval(day("Cached status lags") + ".click()")
	b.sees(pressed("Cached status lags"), "true")
	b.eval(`document.querySelector("#good").click()`)
	b.sees(`document.querySelector("#on").children.length`, "0")
	b.sees(pressed("Cached status lags"), "false")
}

// In light and dark mode, text and states have the contrast that WCAG 2.2 requires: 4.5 to 1 for text, and 3 to 1 for shapes.
func TestPage_hasContrast(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	b := look(t, sim, 1)
	const faint = `(() => {
		const shine = name => {
			const hex = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim().replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3");
			const [r, g, b] = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		const ratio = (a, b) => { const [x, y] = [shine(a), shine(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
		const pairs = [];
		for (const text of ["ink", "quiet", "accent", "fail"]) for (const ground of ["panel", "ground", "hover", "tint"]) pairs.push([text, ground, 4.5]);
		for (const shape of ["run", "fresh", "unhosted", "stopped", "registered", "empty", "away", "ok"]) pairs.push([shape, "panel", 3]);
		pairs.push(["accent-ink", "accent", 4.5], ["run", "fresh", 1.5]);
		return pairs.filter(([a, b, least]) => ratio(a, b) < least).map(([a, b]) => a + " on " + b + " " + ratio(a, b).toFixed(2)).join();
	})()`
	for _, scheme := range []string{"light", "dark"} {
		b.media("prefers-color-scheme", scheme)
		providertest.Same(t, fmt.Sprintf("in %s", scheme), "", b.eval(faint))
	}
}

// A scenario shows its steps, and the next one can be run at once.
func TestPage_playsAScenario(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	scenario, err := simulator.ParseScenario("x.json", []byte(`{"title":"Two steps","teaches":"Patience","steps":[{"say":"away","after":"1h","name":"away","fault":{"unreachable":"117"}},{"say":"back","after":"1h","end":"away"}]}`))
	simtest.Must(t, err)
	sim.Scenario = scenario
	b := look(t, sim, 20)
	b.sees(`document.querySelector("#teaches").textContent`, "Patience")
	const steps = `document.querySelector("#scenario-title").textContent + ": " + [...document.querySelectorAll("#steps li")].map(s => s.textContent).join()`
	b.sees(steps, "Two steps: away (next),back")
	b.click(`document.querySelector("#next")`)
	b.sees(steps, "Two steps: away (done),back (next)")
	b.sees(shown("away"), "20")
	b.shoot("scenario")
	b.click(`document.querySelector("#next")`)
	b.sees(steps, "Two steps: away (done),back (done)")
	b.sees(shown("away"), "0")
	b.sees(`document.querySelector("#next").hidden`, "true")
}

// If CMDB knows the hosts, they are grouped by set and module, including those without a process.
func TestPage_groupsByModule(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, `{"businesses":[{"name":"shop","sets":[{"name":"gz-[1-12]","modules":[
		{"name":"gate","hosts":[{"count":3,"ip":"10.1.0.1"}]},{"name":"game","hosts":[{"count":40,"ip":"10.2.0.1"}]}]}]}]}`)
	sim := c.Sim
	for n := range 100 {
		simtest.Must(t, sim.Register(fmt.Sprintf("0:10.2.0.%d", n+1), "shop", "game", nil, ""))
	}
	b := newTab(t)
	b.open(c.URL + "/")
	const places = `JSON.stringify([...document.querySelectorAll("#fleet .group")].map(g => [g.querySelector("h3").textContent, ...[...g.querySelectorAll(".place")].slice(0, 3).map(p => p.textContent + " " + p.querySelectorAll("[role=option]").length)]))`
	b.sees(places, `[["shop:game","gz-1 / game 40","gz-2 / game 40","gz-3 / game 20"],["Hosts without a process","gz-1 / gate 3","gz-2 / gate 3","gz-3 / game 20"]]`)
	b.media("prefers-color-scheme", "dark")
	b.shoot("modules-dark")
	simtest.Must(t, sim.CMDB().Add("shop/gz-1/game", simulator.TopologyHosts{IP: "10.9.0.1"}))
	b.sees(counted("empty"), "417")
}

// If the simulator has a secret, the page shows nothing without it. The link carries it
// where no server and no other page sees it, and the page removes it.
func TestPage_asksForTheSecret(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{AppSecret: "o'wn & only"}
	sim.AddHost("0:10.0.0.1")
	c := simtest.NewClient(t, sim)
	b := newTab(t)
	b.open(c.URL + "/")
	b.sees(`document.querySelector("#login").open`, "true")
	b.sees(cells+".length", "0")
	b.eval(`document.querySelector("#login-secret").value = "wrong"; document.querySelector("#login .button").click()`)
	b.sees(`document.querySelector("#login").open && !document.querySelector("#login-error").hidden`, "true")
	b.eval(`document.querySelector("#login-secret").value = "o'wn & only"; document.querySelector("#login .button").click()`)
	b.sees(cells+".length", "1")

	linked := newTab(t)
	linked.open(c.URL + "/#app_code=bk_test&app_secret=o%27wn+%26+only")
	linked.sees(cells+".length", "1")
	linked.sees("location.href", c.URL+"/")
}

var link = regexp.MustCompile(`(?m)^Its page: +(http://\S+)$`)

// The open page follows the demo. Three hosts appear, one is killed and restarted, one is unregistered by
// another user and repaired, and all are destroyed.
func TestAccPage_demo(t *testing.T) {
	t.Parallel()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("Acceptance tests skipped unless env 'TF_ACC' set")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the demo needs 127.0.0.2 and 127.0.0.3")
	}
	b := newTab(t)
	dir := t.TempDir()
	demo := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "../../examples/demo/run.sh")
	demo.Env = append(os.Environ(), "TMPDIR="+dir, "CLI="+os.Getenv("TF_ACC_TERRAFORM_PATH"))
	var out bytes.Buffer
	demo.Stdout, demo.Stderr = &out, &out
	providertest.NoError(t, demo.Start())
	ended := make(chan struct{})
	var failed error
	go func() {
		defer close(ended)
		failed = demo.Wait()
	}()
	t.Cleanup(func() {
		_ = demo.Process.Signal(syscall.SIGTERM)
		<-ended
	})

	// The demo builds the provider and the simulator first, which may take long.
	url := ""
	for url == "" {
		select {
		case <-ended:
			t.Fatalf("the demo: %v\n%s", failed, out.String())
		case <-time.After(100 * time.Millisecond):
		}
		files, _ := filepath.Glob(filepath.Join(dir, "bk-demo.*", "greeting"))
		for _, file := range files {
			greeting, _ := os.ReadFile(file)
			if found := link.FindSubmatch(greeting); found != nil {
				url = string(found[1])
			}
		}
	}
	b.size(1280, 640)
	b.open(url)
	b.sees(`document.querySelector("#nothing h3").textContent`, "Nothing is registered here yet")
	b.sees(shown("running"), "3")
	const pid = `[...document.querySelectorAll("#fleet .card")].find(c => c.textContent.startsWith("0:127.0.0.2")).textContent.match(/pid (\d+)/)[1]`
	b.sees("(window.before = "+pid+") > 0", "true")
	b.sees(pid+" !== window.before", "true")
	b.sees(counted("unhosted"), "1")
	b.sees(`document.querySelector("#fleet [role=option] .unhosted").parentElement.ariaLabel.startsWith("0:127.0.0.3: running, but not hosted")`, "true")
	b.shoot("simulator-demo")
	b.sees(shown("running"), "3")
	b.sees(connection, "the simulator does not answer")
	if <-ended; failed != nil {
		t.Errorf("the demo: %v\n%s", failed, out.String())
	}
}
