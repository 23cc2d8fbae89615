package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if role := os.Getenv(envRole); role != "" {
		os.Exit(plugin(context.Background(), role))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options holds the flags.
type options struct {
	cli      string
	provider string
	out      string
	sizes    []int
	runs     int
	extra    bool
	long     bool
	only     string
	slack    float64
}

func parse(args []string, stderr io.Writer) (options, error) {
	var (
		o     options
		sizes string
		flags = flag.NewFlagSet("bench", flag.ContinueOnError)
	)
	flags.SetOutput(stderr)
	flags.StringVar(&o.cli, "cli", "terraform", "the CLI to run")
	flags.StringVar(&o.provider, "provider", "", "the built provider")
	flags.StringVar(&o.out, "out", ".bench", "directory for the table, as CSV and as a plot")
	flags.StringVar(&sizes, "sizes", "100,1000,5000,10000", "how many hosts, with commas between")
	flags.IntVar(&o.runs, "runs", 5, "runs of each step, whose median counts")
	flags.BoolVar(&o.extra, "extra", true, "also measure 200 resources of 50 hosts, a data source of 10000, and processes that take 2 s")
	flags.BoolVar(&o.long, "long", false, "also measure a fleet of 100000 hosts in 20 resources, a quarter of an hour for each run")
	flags.StringVar(&o.only, "only", "", "measure only scenarios with this in their names, as the table has them")
	flags.Float64Var(&o.slack, "slack", 0, "fail if a target is missed: times by more than this factor, counts and memory at all; 0 only prints")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for text := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return o, fmt.Errorf("-sizes: %q is no number of hosts", text)
		}
		o.sizes = append(o.sizes, n)
	}
	if o.provider == "" || o.runs < 1 {
		return o, errors.New("-provider and at least one run are needed")
	}
	// The CLI runs in other directories.
	for _, path := range []*string{&o.provider, &o.out} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, err
		}
		*path = absolute
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o750); err != nil {
		return err
	}
	began := time.Now()
	b, err := newBench(ctx, o, stderr)
	if err != nil {
		return err
	}
	defer b.close()

	measured, err := b.measure(ctx)
	if err != nil {
		return err
	}
	if err := measured.write(stdout); err != nil {
		return err
	}
	name := filepath.Join(o.out, "bench-"+began.Format("20060102-150405"))
	if err := errors.Join(measured.writeCSV(name+".csv"), measured.plot(name+".png")); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n%s, %d runs of each step, %.0f s in all. The same as CSV and as a plot: %s.{csv,png}\n",
		b.version, o.runs, time.Since(began).Seconds(), name)
	return measured.judge(stdout, o.slack)
}
