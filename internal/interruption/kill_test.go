//go:build unix

package interruption

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// The provider or the CLI is killed at any call of a create, an update or a delete, or Ctrl-C is pressed, once or twice. Then one more
// apply of the same configuration is sufficient: the platform is as declared, and nothing that was not declared has changed.
//
// Over JOB there is no cached status and no fingerprint, and registering means hosting. If the answer to a create was lost, what it
// has hosted counts as ours and is hosted again.
func TestAccKill(t *testing.T) {
	t.Parallel()
	for objects, c := range map[string]struct {
		by       providertest.Face
		ordinary int
	}{"gse": {providertest.Face(providertest.Gateway), 6}, "job": {providertest.FaceJOB, 4}} {
		t.Run(objects, func(t *testing.T) {
			t.Parallel()
			if c.by == providertest.FaceJOB {
				providertest.ESBOnly(t, "JOB is behind it whatever the gateway")
			}
			providertest.InRounds(t, c.ordinary, func(t *testing.T, chance *rand.Rand) {
				t.Helper()
				(&killRound{killer: newKiller(t), by: c.by, chance: chance}).play()
			})
		})
	}
}

type killRound struct {
	*killer
	by         providertest.Face
	chance     *rand.Rand
	last, next killed
}

func (r *killRound) play() {
	r.next = someKilled(r.by, r.chance)
	if r.chance.IntN(3) > 0 {
		r.last, r.next = r.next, someKilled(r.by, r.chance)
		if r.chance.IntN(4) == 0 {
			r.next = killed{by: r.by}
		}
		r.cli.ConfigureWith(r.last.provider(r.sim), r.last.String())
		r.cli.Expect(0, "apply", "-auto-approve")
	}
	r.victim = []string{"provider", "provider", "cli", "cli", "once", "twice"}[r.chance.IntN(6)]
	r.moment = []string{"before", "after", "answered"}[r.chance.IntN(3)]
	r.sim.ResetCalls()
	r.cli.ConfigureWith(r.next.provider(r.sim), r.next.String())

	command := []string{"apply", "-auto-approve"}
	if r.interrupts() {
		// The plan that Terraform (1.11.4) makes within an apply does not end by Ctrl-C.
		r.cli.Expect(0, "plan", "-out=plan")
		command = []string{"apply", "plan"}
	}
	at, gone := r.Run(1+r.chance.IntN(14), command...)
	if r.chance.IntN(2) == 0 {
		gone()
	}
	if r.victim == "twice" {
		gone()
		r.restore()
	}
	again := r.cli.Expect(0, "apply", "-auto-approve")
	plan, said := r.cli.Run("plan", "-detailed-exitcode")
	providertest.Check(r.t, plan == 0, "the plan afterwards exits with %d\n%s", plan, said)

	r.t.Logf("%s killed %s %q, gone %s later; from\n%s\nto\n%s", r.victim, r.moment, at, gone(), r.last, r.next)
	r.next.checkPlatform(r.t, r.sim)
	r.checkExecutions()
	if r.t.Failed() {
		r.t.Log(again)
	}
}

// A provider whose CLI was killed makes no further calls and exits. The state lock that is left does not block later runs.
func TestAccKill_orphan(t *testing.T) {
	t.Parallel()
	k := newKiller(t)
	k.victim, k.moment = "cli", "answered"
	declared := killed{hosts: []int{1, 2, 3, 4}, start: "./a.sh", team: "sre", ensure: "registered", onDestroy: "unregister", batch: 1}
	k.cli.ConfigureWith(declared.provider(k.sim), declared.String())
	api, op := providertest.FaultOn("register_proc_info")
	// The provider polls the second host for ever, and must not continue with the third one.
	k.sim.Inject(simulator.Fault{API: api, Op: op, Hosts: []string{providertest.Address(2)}, Pending: -1})
	at, gone := k.Run(8, "apply", "-auto-approve")
	if at == "" {
		t.Fatal("no process was killed")
	}
	_, err := os.Stat(filepath.Join(k.cli.Dir, ".terraform.tfstate.lock.info"))
	providertest.Check(t, err == nil, "no lock is left, so this shows nothing: %s", err)
	atMost := len(k.sim.Calls()) + 1 // one may have been in flight
	t.Logf("the provider was gone %s later", gone())
	got := k.sim.Calls()
	providertest.Check(t, len(got) <= atMost && len(got.On(providertest.Address(3))) == 0, "it continued with %v", got[min(atMost, len(got)):].APIs())
	k.sim.Repair()
	k.cli.Expect(0, "apply", "-auto-approve")
	declared.checkPlatform(t, k.sim)

	// An idle provider also exits, although no call of its own fails.
	k.moment = "after"
	if at, gone := k.Run(1, "plan"); at == "" || gone() == 0 {
		t.Errorf("killed at %q", at)
	}
}

// killed is what a round declares. Without hosts, it declares nothing.
type killed struct {
	by                      providertest.Face
	hosts                   []int
	start, team             string
	ensure, onDestroy       string
	operation               string // of a bk_process_operation, "" for none
	trigger, batch, atATime int
}

func someKilled(by providertest.Face, chance *rand.Rand) killed {
	one := func(of ...string) string { return of[chance.IntN(len(of))] }
	c := killed{
		by: by, start: one("./a.sh", "./b.sh"), team: one("sre", "dev"), ensure: one("registered", "hosted", "running"),
		onDestroy: one("unregister", "stop"), operation: one("", "start", "restart"), trigger: chance.IntN(2), batch: chance.IntN(4),
		atATime: 1 + chance.IntN(4),
	}
	if by == providertest.FaceJOB {
		c.team = "" // its processes have no labels
	}
	for _, n := range providertest.HostNumbers(6) {
		if chance.IntN(2) == 0 || n == 6 && len(c.hosts) == 0 {
			c.hosts = append(c.hosts, n)
		}
	}
	return c
}

func (c killed) provider(sim *providertest.Sim) string {
	return sim.ProviderConfig(fmt.Sprintf("max_hosts_per_request = 2\n  max_concurrent_requests = %d", max(c.atATime, 1)))
}

func (c killed) String() string {
	if len(c.hosts) == 0 {
		return ""
	}
	rollout := ""
	if c.batch > 0 {
		rollout = fmt.Sprintf("\n  rollout = { batch_size = %d }", c.batch)
	}
	more := fmt.Sprintf("ensure = %q\n  on_destroy = %q%s", c.ensure, c.onDestroy, rollout)
	triggers := fmt.Sprintf("triggers = { n = \"%d\" }%s", c.trigger, rollout)
	if c.by == providertest.FaceJOB {
		hosted := providertest.JobConfig{Hosts: providertest.HostsConfigOf(c.hosts...), Process: providertest.JobProcess(c.start), More: more}
		if c.operation == "" {
			return hosted.String()
		}
		return hosted.String() + fmt.Sprintf(`
resource "bk_job_process_operation" "test" {
  scope     = bk_job_hosted_process.test.scope
  hosts     = bk_job_hosted_process.test.hosts
  process   = bk_job_hosted_process.test.process
  operation = %q
  %s
}
`, c.operation, triggers)
	}
	hosted := providertest.HostedConfig{Hosts: providertest.HostsConfigOf(c.hosts...), Labels: fmt.Sprintf("{ team = %q }", c.team), Start: c.start, More: more}
	if c.operation == "" {
		return hosted.String()
	}
	return providertest.OperationConfig{Hosted: hosted, Operation: c.operation, More: triggers}.String()
}

func (c killed) has(address string) bool {
	return slices.Contains(providertest.AddressList(c.hosts), address)
}

func (c killed) checkPlatform(t *testing.T, sim *providertest.Sim) {
	t.Helper()
	fingerprints := make(map[string]bool)
	for _, n := range providertest.HostNumbers(6) {
		namespace, name := c.by.Process()
		process, _ := sim.Process(providertest.Address(n), namespace, name)
		fine := !process.Registered && !process.Hosted
		if c.has(providertest.Address(n)) {
			fingerprints[process.Labels["tf_spec"]] = true
			delete(process.Labels, "tf_spec_owner") // it differs between objects
			registered := process.Registered && process.Labels["team"] == c.team && len(process.Labels) == 2
			if c.by == providertest.FaceJOB {
				registered = process.Hosted
			}
			fine = registered && providertest.StartsWith(process, c.start) &&
				(process.Hosted || c.ensure == "registered") && (process.Running || c.ensure != "running")
		}
		providertest.Check(t, fine, "web-%d is %+v", n, process)
	}
	if len(c.hosts) > 0 && (len(fingerprints) != 1 || fingerprints[""] != (c.by == providertest.FaceJOB)) {
		t.Errorf("fingerprints: %v", fingerprints)
	}
}

// checkExecutions finds executions on hosts that belong neither to the last declaration nor to the next.
func (r *killRound) checkExecutions() {
	last, next := r.last, r.next
	onDestroy := next.onDestroy
	if len(next.hosts) == 0 {
		onDestroy = last.onDestroy
	}
	restarts := make(map[string]int)
	for _, e := range r.sim.Executions() {
		staying, leaving := next.has(e.Host), last.has(e.Host) && !next.has(e.Host)
		// A create that was interrupted before any host was as declared is tainted, so what it left is unregistered first.
		if len(last.hosts) == 0 {
			leaving = staying
		}
		allowed := false
		switch e.Action {
		case "register", "update", "host":
			allowed = staying
		case "unregister", "unhost":
			allowed = leaving
		case "start":
			allowed = staying && (next.operation == "start" || (next.ensure == "running" && e.Code != simulator.CodeAlreadyRunning))
		case "restart":
			allowed = staying && next.operation == "restart"
			restarts[e.Host]++
		case "stop":
			allowed = leaving && onDestroy == "stop"
		}
		providertest.Check(r.t, allowed, "not requested: %+v", e)
	}
	for _, n := range next.hosts {
		host, minimum, maximum := providertest.Address(n), 0, 0
		triggered := last.operation != next.operation || last.trigger != next.trigger
		if next.operation == "restart" && (triggered || !last.has(host)) {
			// The killed apply and the next one may both restart; neither knows of the other.
			minimum, maximum = 1, 2
		}
		got := restarts[host]
		providertest.Check(r.t, got >= minimum && got <= maximum, "web-%d was restarted %d times, want %d to %d", n, got, minimum, maximum)
	}
}

// The CLI and its provider are killed together at any call of a rolling restart, so state does not change. No host is restarted again
// unless an apply has named it in an error before. That holds whatever times the agents report and however old the cached status is.
func TestAccKill_rollout(t *testing.T) {
	t.Parallel()
	providertest.InRounds(t, 3, func(t *testing.T, chance *rand.Rand) {
		t.Helper()
		k := newKiller(t)
		k.victim, k.moment = "both", []string{"before", "after", "answered"}[chance.IntN(3)]
		keeps, frozen := chance.IntN(2) == 0, chance.IntN(2) == 0
		k.sim.ReregisteringKeepsTime, k.sim.StartingKeepsTime, k.sim.HostingKeepsTime = keeps, keeps, keeps
		waves := []string{`["2"]`, `["1", "*2"]`, `["100%"]`}[chance.IntN(3)]
		config := func(start string) string {
			return providertest.HostedConfig{
				Hosts: providertest.HostsConfigOf(1, 2, 3, 4, 5, 6), Labels: `{ team = "sre" }`, Start: start,
				More: fmt.Sprintf("ensure = \"running\"\n  on_update = \"restart\"\n  rollout = { waves = %s }", waves),
			}.String()
		}
		provider := k.sim.ProviderConfig("")
		k.cli.ConfigureWith(provider, config("./a.sh"))
		k.cli.Expect(0, "apply", "-auto-approve")
		if frozen {
			k.sim.FreezeStatus()
		}
		k.cli.ConfigureWith(provider, config("./b.sh"))
		k.sim.ResetCalls()
		at, gone := k.Run(2+chance.IntN(24), "apply", "-auto-approve")
		gone()
		t.Logf("killed %s %q; keeps times: %t, frozen: %t, waves %s", k.moment, at, keeps, frozen, waves)

		unconfirmed := "" // in the state that a failed apply has left
		for range 2 {
			exit, out := k.cli.Run("apply", "-auto-approve")
			restarts := make(map[string]int)
			for _, e := range k.sim.Executions() {
				if e.Action == "restart" {
					restarts[e.Host]++
				}
			}
			for n := 1; n <= 6; n++ {
				if restarts[providertest.Address(n)] > 1 && !strings.Contains(unconfirmed, fmt.Sprintf(`"web-%d" = "operation_unconfirmed`, n)) {
					t.Errorf("web-%d was restarted %d times, and no apply had named it\n%s", n, restarts[providertest.Address(n)], out)
				}
			}
			if exit == 0 {
				break
			}
			_, unconfirmed = k.cli.Run("show")
		}
		k.cli.Expect(0, "plan", "-detailed-exitcode")
		for n := 1; n <= 6; n++ {
			p, _ := k.sim.Process(providertest.Address(n), "web", "nginx")
			providertest.Check(t, p.Running && providertest.StartsWith(p, "./b.sh"), "web-%d is %+v", n, p)
		}
	})
}

// killer stands before a simulator. Exactly when a call is made, it kills the provider or the CLI with SIGKILL,
// or presses Ctrl-C.
type killer struct {
	t      *testing.T
	sim    *providertest.Sim
	cli    *providertest.CLI
	victim string // "provider", "cli" or "both", or how often Ctrl-C is pressed: "once" or "twice"
	moment string // "before" a call is taken, "after" it was carried out, or when it was "answered"

	mu      sync.Mutex
	left    int // calls until it strikes, 0 for never
	process *os.Process
	at      string // the call at which it struck
}

// newKiller returns a killer that can follow every provider process, because each of them writes its process id to a file.
func newKiller(t *testing.T) *killer {
	t.Helper()
	k := &killer{t: t}
	k.sim = providertest.NewSimBehind(t, k.before)
	k.cli = providertest.NewCLI(t, k.sim, "")
	binary, err := providertest.ProviderBinary()
	providertest.NoError(t, err)
	bin := filepath.Join(k.cli.Dir, "bin")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >>%q\nexec %q \"$@\"\n", k.pids(), filepath.Join(binary, "terraform-provider-bk"))
	if err := errors.Join(os.Mkdir(bin, 0o700), os.WriteFile(filepath.Join(bin, "terraform-provider-bk"), []byte(script), 0o700)); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	k.cli.Write("cli.tfrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"blueking/bk\" = %q\n  }\n  direct {}\n}\n", bin))
	return k
}

func (k *killer) pids() string { return filepath.Join(k.cli.Dir, "pids") }

func (k *killer) before(sim http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !k.strikes(r) {
			sim.ServeHTTP(w, r)
			return
		}
		if k.moment == "answered" && !k.interrupts() {
			sim.ServeHTTP(w, r)
			k.kill(r)
			return
		}
		if k.moment == "before" {
			_, _ = io.Copy(io.Discard, r.Body)
		} else {
			sim.ServeHTTP(httptest.NewRecorder(), r)
		}
		k.kill(r)
		panic(http.ErrAbortHandler)
	})
}

func (k *killer) interrupts() bool { return k.victim == "once" || k.victim == "twice" }

func (k *killer) strikes(r *http.Request) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left == 0 {
		return false
	}
	k.left--
	if k.left == 0 {
		k.at = strings.Trim(r.URL.Path, "/")
		k.at = k.at[strings.LastIndex(k.at, "/")+1:]
	}
	return k.left == 0
}

func (k *killer) kill(r *http.Request) {
	switch k.victim {
	case "cli":
		k.must(k.process.Kill())
		return
	case "once", "twice":
		k.must(k.process.Signal(os.Interrupt))
		// The call hangs until the client cancels it, which shows that the first Ctrl-C has arrived.
		select {
		case <-r.Context().Done():
		case <-time.After(30 * time.Second):
			k.t.Error("Ctrl-C did not end a call")
		}
		if k.victim == "twice" {
			// The CLI may already have exited.
			_ = k.process.Signal(os.Interrupt)
		}
		return
	}
	if k.victim == "both" { // the CLI first, or it would save what the killed provider left
		k.must(k.process.Kill())
	}
	pids, err := os.ReadFile(k.pids())
	k.must(err)
	// The last one is active; those before it served earlier steps.
	fields := strings.Fields(string(pids))
	pid, err := strconv.Atoi(fields[len(fields)-1])
	k.must(err)
	k.must(syscall.Kill(pid, syscall.SIGKILL))
}

// must does not call t.Fatal, because it runs in the simulator's goroutine.
func (k *killer) must(err error) {
	providertest.Check(k.t, err == nil, "%s", err)
}

// Run runs a command and kills the victim at its n-th call, if there are that many. It returns the call, or "" if
// there was none. gone waits until no provider is left, and returns how long that took after the end of the CLI.
func (k *killer) Run(n int, args ...string) (at string, gone func() time.Duration) {
	k.t.Helper()
	_ = os.Remove(k.pids())
	cmd, out := k.cli.Command(k.t.Context(), args...)
	// The providers inherit the CLI's standard input, so its other end is closed when the last of them exits.
	alive, held, err := os.Pipe()
	providertest.NoError(k.t, err)
	cmd.Stdin = held
	k.mu.Lock() // no call before the process is known
	err = errors.Join(cmd.Start(), held.Close())
	k.left, k.at, k.process = n, "", cmd.Process
	k.mu.Unlock()
	providertest.NoError(k.t, err)
	err = cmd.Wait()
	ended := time.Now()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		k.t.Fatalf("%v: %s", err, out)
	}
	var (
		over = make(chan struct{})
		left time.Duration
	)
	go func() {
		defer close(over)
		defer func() { _ = alive.Close() }()
		_ = alive.SetReadDeadline(ended.Add(30 * time.Second)) // so that the read ends
		_, err = alive.Read(make([]byte, 1))
		left = time.Since(ended)
	}()
	gone = func() time.Duration {
		k.t.Helper()
		if <-over; !errors.Is(err, io.EOF) {
			k.t.Errorf("a provider still runs without its CLI: %v", err)
		}
		return left
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left = 0; k.at == "" && cmd.ProcessState.ExitCode() != 0 {
		k.t.Fatalf("no process was killed, and %v failed: %s", args, out)
	}
	return k.at, gone
}

// restore restores the earlier state if the CLI has left none. A second Ctrl-C may interrupt the CLI
// while it writes its state file, and it warns of that.
func (k *killer) restore() {
	k.t.Helper()
	state := filepath.Join(k.cli.Dir, "terraform.tfstate")
	if raw, err := os.ReadFile(state); err != nil || json.Valid(raw) {
		return
	}
	k.t.Log("the CLI has left a torn state file")
	if err := os.Rename(state+".backup", state); errors.Is(err, os.ErrNotExist) {
		k.must(os.Remove(state)) // there was no state before
	} else {
		k.must(err)
	}
}
