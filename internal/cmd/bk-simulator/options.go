package main

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// options are the checked flags.
type options struct {
	listen    string
	hosts     []string
	admit     []netip.Prefix
	topology  *simulator.Topology
	scenario  *simulator.Scenario
	local     bool
	root      string
	state     string
	appCode   string
	appSecret string
	// secretFile is the file that appSecret was read from, if any.
	secretFile string
	username   string
	tenant     string
	quirks     []string
	platform   belief.Profile
	rowLabels  map[string]string
	procPath   string
	supervise  time.Duration
	stop       bool
	readyFile  string
	quiet      bool
}

const usage = `bk-simulator is BlueKing's process service (GSE) on one machine.

It answers the process APIs of GSE as the ESB and the API gateway offer them, and
those of JOB, at
  http://127.0.0.1:8091/api/c/compapi/v2/gse/<name>/
  http://127.0.0.1:8091/api/bk-gse/prod/api/v2/proc/<name>
  http://127.0.0.1:8091/api/c/compapi/v2/jobv3/<name>/
and, with -topology, those of CMDB about hosts and processes, at
  http://127.0.0.1:8091/api/c/compapi/v2/cc/<name>/
  http://127.0.0.1:8091/api/bk-cmdb/prod/api/v3/<path>
Open http://127.0.0.1:8091/ in a browser to watch all of it live and to inject faults;
http://127.0.0.1:8091/_sim/ has a curl example of each switch. It listens on this
machine only, and answers no web page but its own.

  bk-simulator -hosts 0:10.0.0.1,0:10.0.0.2        two virtual hosts
  bk-simulator -admit 10.0.0.0/16                  65,536 virtual hosts
  bk-simulator -topology topology.json             the content of CMDB, and its hosts
  bk-simulator -scenario examples/scenarios/silent-agents/scenario.json
                                                   faults that happen by themselves
  bk-simulator -local -root ./sandbox -state ./sandbox/state.json
                                                   127.0.0.1, 127.0.0.2, ... run
                                                   their commands for real

The script APIs of the gateway and of JOB run only scripts that read what an agent
hosts from its own file. That file and what the scripts print are generated.

A virtual host keeps state and runs nothing. A local host runs the commands that it
is given, as you. With -root each local host has its own tree: /opt/app of host
127.0.0.2 is <root>/127.0.0.2/opt/app. Anyone on this machine who knows the secret
can run commands as you that way, so each start makes a new secret unless you give
one. Put yours into a file (-app-secret-file), because other users can see a
command's arguments. The switches require it too: curl -u <app code>:<app secret>.

When it is ready, it prints the line that lets Terraform reach it:
  export BK_ENDPOINT=http://127.0.0.1:8091 BK_APP_CODE=bk_test BK_APP_SECRET=... BK_USERNAME=admin
To reach it as the API gateway, set
  BK_GATEWAY=apigw BK_ENDPOINT=http://127.0.0.1:8091/api/bk-gse/prod and the same credentials

Flags:
`

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("bk-simulator", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		_, _ = io.WriteString(stderr, usage)
		fs.PrintDefaults()
		_, _ = io.WriteString(stderr, quirkHelp())
	}
	fs.StringVar(&o.listen, "listen", "127.0.0.1:8091", "loopback `address` to listen on; port 0 picks a free one")
	fs.Func("hosts", "declare `hosts`, as cloud:ip, cloud:supplier:ip or an agent id; repeat it or separate by commas", o.addHosts)
	fs.Func("admit", "declare every address in a `CIDR`, in any cloud area; may be repeated", o.addPrefix)
	fs.Func("topology", "JSON `file` with the content of CMDB, whose hosts are declared too (see the type Topology in the package simulator)", o.readTopology)
	fs.BoolVar(&o.local, "local", false, "run commands for 127.0.0.0/8, and declare those hosts")
	fs.StringVar(&o.root, "root", "", "`directory` with one tree per local host; without it they share the file system of this machine")
	fs.StringVar(&o.state, "state", "", "`file` that keeps processes and changes of CMDB, so that they survive a restart")
	fs.StringVar(&o.appCode, "app-code", simulator.DefaultAppCode, "the only bk_app_code that is accepted")
	fs.StringVar(&o.appSecret, "app-secret", "", "the only bk_app_secret that is accepted, a random one if empty; other users can see it in the list of processes")
	fs.Func("app-secret-file", "`file` with the only bk_app_secret that is accepted", o.readSecret)
	fs.StringVar(&o.username, "username", "", "the only bk_username that is accepted; any if empty")
	fs.StringVar(&o.tenant, "tenant", "", "the only X-Bk-Tenant-Id that the gateway accepts; any if empty")
	fs.Func("with", "`switches` for differences between platforms, separated by commas (see below)", o.addQuirks)
	fs.Func("platform", "`file` that bk-doctor probe wrote: behave like that platform; -with adds to it", o.readPlatform)
	fs.Func("scenario", "`file` with faults that happen by themselves, such as those of examples/scenarios, which declare their hosts", func(file string) error { return o.readScenario(fs, file) })
	fs.Func("row-label", "`name=value` that the platform adds to the labels of every status row; may be repeated", o.addRowLabel)
	fs.StringVar(&o.procPath, "agent-file", simulator.DefaultProcPath, "`path` at which agents keep what they host, for the scripts that read it")
	fs.DurationVar(&o.supervise, "supervise", time.Second, "how often to supervise hosted processes; 0 for never")
	fs.BoolVar(&o.stop, "stop-processes", false, "stop the processes of local hosts when the simulator ends; by default they keep running")
	fs.StringVar(&o.readyFile, "ready-file", "", "`file` to write the URL to when ready, removed at the end")
	fs.BoolVar(&o.quiet, "quiet", false, "do not log calls")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errUsage
	}
	if err := o.check(fs); err != nil {
		fmt.Fprintf(stderr, "bk-simulator: %v\nSee bk-simulator -h.\n", err)
		return nil, errUsage
	}
	return o, nil
}

func (o *options) addHosts(list string) error {
	for host := range strings.SplitSeq(list, ",") {
		if err := simulator.CheckHost(host); err != nil {
			return err
		}
		o.hosts = append(o.hosts, host)
	}
	return nil
}

func (o *options) readTopology(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	o.topology, err = simulator.ParseTopology(text)
	return err
}

// scenarioFlags are the flags that a scenario may set: differences between platforms, nothing about this
// machine.
var scenarioFlags = []string{"admit", "hosts", "row-label", "with"}

func (o *options) readScenario(fs *flag.FlagSet, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if o.scenario, err = simulator.ParseScenario(file, text); err != nil {
		return err
	}
	for name, value := range o.scenario.Simulator {
		if !slices.Contains(scenarioFlags, name) {
			return fmt.Errorf("%s: simulator: a scenario cannot set %q, only %s", file, name, strings.Join(scenarioFlags, ", "))
		}
		if err := fs.Set(name, value); err != nil {
			return fmt.Errorf("%s: simulator: %s: %w", file, name, err)
		}
	}
	return nil
}

func (o *options) readSecret(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if o.appSecret = strings.TrimSpace(string(text)); o.appSecret == "" {
		return errors.New("it is empty")
	}
	o.secretFile = file
	return nil
}

func (o *options) addRowLabel(label string) error {
	name, value, ok := strings.Cut(label, "=")
	if !ok || name == "" {
		return fmt.Errorf("%q: want name=value", label)
	}
	if o.rowLabels == nil {
		o.rowLabels = make(map[string]string)
	}
	o.rowLabels[name] = value
	return nil
}

func (o *options) addPrefix(cidr string) error {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return err
	}
	o.admit = append(o.admit, prefix)
	return nil
}

func (o *options) check(fs *flag.FlagSet) error {
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	// Local hosts run commands, and this machine may have other users.
	if o.local && o.appSecret == simulator.DefaultAppSecret {
		return fmt.Errorf("-app-secret: %q is public, and with -local anyone who knows the secret can run commands; give another secret, or none for a random one", o.appSecret)
	}
	if addr, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !addr.IsLoopback()) {
		return fmt.Errorf("-listen: %q is not a loopback address", host)
	}
	if o.root != "" && !o.local {
		return errors.New("-root is for -local hosts")
	}
	if !o.local && len(o.hosts) == 0 && len(o.admit) == 0 && o.topology == nil {
		return errors.New("no host is declared: give -hosts, -admit, -topology or -local")
	}
	if o.appSecret == "" {
		o.appSecret = rand.Text()
	}
	if o.root != "" { // commands get it and run in another directory, so it must be absolute
		o.root, err = filepath.Abs(o.root)
	}
	return err
}

// keptCalls and keptTasks limit the memory of a simulator that runs for days.
const (
	keptCalls = 10_000
	keptTasks = 10_000
)

func (o *options) server(stderr io.Writer) (*simulator.Server, error) {
	sim := &simulator.Server{
		AppCode: o.appCode, AppSecret: o.appSecret, Username: o.username, TenantID: o.tenant,
		Local: o.local, Root: o.root,
		ProcPath: o.procPath, Supervise: o.supervise, StopProcesses: o.stop,
		Topology:  o.topology,
		Scenario:  o.scenario,
		StateFile: o.state,
		MaxCalls:  keptCalls, MaxTasks: keptTasks,
		ErrorLog: stderr,
	}
	if !o.quiet {
		var mu sync.Mutex
		sim.OnCall = func(c simulator.Call) {
			line := callLine(c)
			mu.Lock()
			defer mu.Unlock()
			_, _ = io.WriteString(stderr, line)
		}
	}
	if err := o.behave(sim); err != nil {
		return nil, err
	}
	sim.AddHost(o.hosts...)
	for _, prefix := range o.admit {
		sim.Admit(prefix)
	}
	return sim, nil
}

// callLine returns the log line of one call: time, API, op, process, number of hosts, outcome and duration.
func callLine(c simulator.Call) string {
	api := printable(c.API)
	if c.Op >= 0 {
		api = fmt.Sprintf("%s op=%d", api, c.Op)
	}
	process := "-"
	if c.Namespace != "" {
		process = printable(c.Namespace + ":" + c.Name)
	}
	outcome := fmt.Sprintf("code=%d", c.Code)
	switch {
	case c.Status == 0:
		outcome = "dropped"
	case c.Status != 200:
		outcome = fmt.Sprintf("http=%d", c.Status)
	case c.Code != 0:
		outcome += fmt.Sprintf(" %q", c.Message)
	}
	return fmt.Sprintf("%s %s %s hosts=%d %s %s\n",
		c.Start.Format("15:04:05.000"), api, process, len(c.Hosts), outcome,
		c.End.Sub(c.Start).Round(100*time.Microsecond))
}

// printable quotes a text that could control a terminal or break the line.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
