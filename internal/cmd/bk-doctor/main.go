// Command bk-doctor checks what the provider assumes about a platform.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/doctor"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/provider"
)

// version is set when a release is built.
var version = "dev"

// Exit codes, as those of a plan with -detailed-exitcode.
const (
	exitWell  = 0
	exitError = 1 // it could not begin or continue
	exitFound = 2 // something needs to be done, or differs from what the provider assumes
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, nil))
}

const usage = `bk-doctor checks on a platform what the provider believes about it.

  bk-doctor check   [-host HOST]... [-files] [-namespace NAME] [-biz ID] [-calls N] [-json]
  bk-doctor probe   -host HOST -namespace NAME [-also HOST] [-biz ID] [-out FILE] [-json]
  bk-doctor record  [-target URL] [-listen ADDRESS] [-out FILE]
  bk-doctor verify  [-platform FILE] [-json] TAPE
  bk-doctor beliefs
  bk-doctor version

check changes nothing. It checks whether the platform can be reached, accepts the application
and grants each API; an API that could change something is called with an empty body.

probe works on one process, sleep, on one test host: it registers, hosts, starts, restarts,
stops and unregisters the process, in an unused namespace, and removes it, also after Ctrl-C.
It says so if something may be left. It settles what the provider believes and writes the
answers to platform.json, with which bk-simulator -platform behaves like the platform. It needs
a Linux host, and takes half a minute plus the time by which the cached status lags.

record is a proxy on this machine in front of the platform. It forwards requests and answers
unchanged, and records them on a tape: without secrets, and with other hosts, ids, names, labels
and commands in place of the real ones. Read the tape before you share it. verify plays a tape
against the simulator, and prints each difference, and a summary for an issue.

check, probe and record are configured by the provider's environment variables: BK_ENDPOINT, BK_GATEWAY,
BK_APP_CODE, BK_APP_SECRET, BK_USERNAME and so on. beliefs prints all questions.

Exit code 0: all is well. 2: something needs to be done, or differs from what the provider
believes or simulates. 1: it could not begin, was interrupted, or left something behind.
`

// options are the flags of check and probe.
type options struct {
	hosts     []string
	also      string
	namespace string
	user      string
	business  int64
	calls     int
	files     bool
	watch     time.Duration
	patience  time.Duration
	out       string
	asJSON    bool
}

// run returns the exit code. clock is a test's clock, nil for real time.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, clock poll.Clock) int {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch command {
	case "check", "probe", "record", "verify":
	case "beliefs":
		printBeliefs(stdout)
		return exitWell
	case "version", "-version", "--version":
		fmt.Fprintln(stdout, "bk-doctor", version)
		return exitWell
	case "-h", "-help", "--help", "help":
		fmt.Fprint(stdout, usage)
		return exitWell
	default:
		fmt.Fprint(stderr, usage)
		return exitError
	}
	code, err := execute(ctx, command, args[1:], stdout, stderr, clock)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return code
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(stderr, "bk-doctor:", strings.TrimSpace(line))
	}
	return exitError
}

// execute runs a command that has flags. Its exit code counts if there is no error.
func execute(ctx context.Context, command string, args []string, stdout, stderr io.Writer, clock poll.Clock) (int, error) {
	switch command {
	case "record":
		return record(ctx, args, stdout, stderr)
	case "verify":
		return verify(args, stdout, stderr)
	}
	o, err := parse(command, args, stderr)
	if err != nil {
		return exitWell, err
	}
	return o.consult(ctx, command, stdout, stderr, clock)
}

func parse(command string, args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("bk-doctor "+command, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Func("host", "`address` of a host as in a configuration, such as 0:10.0.0.9 or an agent id; check takes several", func(text string) error {
		o.hosts = append(o.hosts, text)
		return nil
	})
	fs.StringVar(&o.namespace, "namespace", "", "check: `name` of a namespace with registrations, to report the age of its newest row; probe: of an unused one")
	fs.Int64Var(&o.business, "biz", 0, "`id` of the business of the host, which JOB and CMDB require")
	fs.BoolVar(&o.asJSON, "json", false, "print one JSON document")
	switch command {
	case "check":
		fs.BoolVar(&o.files, "files", false, "run the script on each -host that reads what its agent hosts, as verify = \"agent\" does")
		fs.IntVar(&o.calls, "calls", 0, "make that many calls at once, to find a limit; 0 for none")
	case "probe":
		fs.StringVar(&o.also, "also", "", "another `address` of the same host, if the platform returns none")
		fs.StringVar(&o.user, "user", "root", "`user` of the host that runs the process")
		fs.DurationVar(&o.watch, "watch", 30*time.Second, "how long to watch whether the agent starts what it hosts")
		fs.DurationVar(&o.patience, "patience", 10*time.Minute, "how long to wait for the cached status")
		fs.StringVar(&o.out, "out", "platform.json", "`file` for the profile; values in it that this run does not settle are kept")
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	for name, below := range map[string]bool{"calls": o.calls < 0, "watch": o.watch < 0, "patience": o.patience < 0} {
		if below {
			return nil, fmt.Errorf("-%s is %s; it cannot be below 0", name, fs.Lookup(name).Value)
		}
	}
	switch {
	case fs.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; see bk-doctor help", fs.Arg(0))
	case command == "probe" && len(o.hosts) != 1:
		return nil, errors.New("probe takes one -host, a test host")
	case command == "probe" && o.namespace == "":
		return nil, errors.New("probe takes -namespace, the name of an unused one, such as bk_doctor")
	}
	return o, nil
}

// consult runs check or probe, and prints the report.
func (o *options) consult(ctx context.Context, command string, stdout, stderr io.Writer, clock poll.Clock) (int, error) {
	settings := provider.DefaultOptions(version)
	settings.Clock = clock
	env, err := provider.FromEnvironment(ctx, settings)
	if err != nil {
		return 0, err
	}
	platform, err := doctor.Connect(env.Platform, doctor.Configs{GSE: env.GSE, JOB: env.JOB, CMDB: env.CMDB, JOBAPI: env.JOBAPI, Warnings: env.Warnings})
	if err != nil {
		return 0, err
	}
	defer platform.Close()
	hosts := make([]fleet.Host, 0, len(o.hosts))
	for _, text := range o.hosts {
		h, err := fleet.ParseHost(text, platform.Supplier)
		if err != nil {
			return 0, fmt.Errorf("-host %q: %w", text, err)
		}
		hosts = append(hosts, h)
	}

	report := &doctor.Report{Command: command}
	if !o.asJSON {
		report.Say = func(l doctor.Line) { fmt.Fprintln(stdout, l) }
	}
	if command == "probe" {
		err = o.probe(ctx, platform, hosts[0], report, stderr)
	} else {
		err = platform.Check(ctx, doctor.Questions{Hosts: hosts, Namespace: o.namespace, Business: o.business, Calls: o.calls, Files: o.files}, report)
	}
	if o.asJSON {
		err = errors.Join(err, report.WriteJSON(stdout))
	} else {
		fmt.Fprintf(stdout, "\n%d well, %d to look at, %d unknown\n", report.Count(doctor.Well), report.Count(doctor.Found), report.Count(doctor.Undetermined))
	}
	switch {
	case err != nil:
		return 0, err
	case report.Count(doctor.Found) > 0:
		return exitFound, nil
	}
	return exitWell, nil
}

// probe settles assumptions and writes the profile. It reads the file first, so that a mistake in it is
// reported before anything is done.
func (o *options) probe(ctx context.Context, platform *doctor.Platform, host fleet.Host, report *doctor.Report, stderr io.Writer) error {
	known, err := readProfile(o.out)
	if err != nil {
		return err
	}
	trial := doctor.Trial{Host: host, Namespace: o.namespace, User: o.user, Business: o.business, Watch: o.watch, Patience: o.patience}
	if o.also != "" {
		other, err := fleet.ParseHost(o.also, platform.Supplier)
		if err != nil {
			return fmt.Errorf("-also %q: %w", o.also, err)
		}
		trial.Other = &other
	}
	profile, err := platform.Probe(ctx, trial, report)
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.out, known.With(profile).Text(), 0o644); err != nil { //nolint:gosec // it has no secret, and is meant to be shared
		return err
	}
	fmt.Fprintf(stderr, "bk-doctor: wrote %s; bk-simulator -platform %[1]s behaves like this platform\n", o.out)
	return nil
}

func readProfile(file string) (belief.Profile, error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return belief.Profile{}, nil
	case err != nil:
		return belief.Profile{}, err
	}
	return belief.ParseProfile(file, text)
}

// printBeliefs prints the table of assumptions as text.
func printBeliefs(w io.Writer) {
	for _, b := range belief.All() {
		fmt.Fprintf(w, "%s\n  %s\n  source: %s; confidence: %s; depends on it: %s\n", b.ID, b.Holds.English, b.Source.English, b.Sure, strings.Join(b.Code, ", "))
		if b.Settled == belief.SettledByNothing {
			fmt.Fprintf(w, "  cannot be checked from outside: %s\n", b.WhyUnsettled.English)
		} else {
			fmt.Fprintf(w, "  settled by: bk-doctor %s\n  otherwise: %s\n", b.Settled, b.Otherwise.English)
		}
		fmt.Fprintln(w)
	}
}
