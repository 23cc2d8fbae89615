package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// measurement is the result of one run of the bench.
type measurement struct {
	rows []*row
	// idle is the peak memory of a provider with one host.
	idle int64
}

type bench struct {
	options
	log      io.Writer
	version  string
	platform *platform
	real     *workspace // with the provider
	floor    *workspace
}

func newBench(ctx context.Context, o options, log io.Writer) (*bench, error) {
	b := &bench{options: o, log: log}
	var err error
	if b.platform, err = newPlatform(""); err != nil {
		return nil, err
	}
	if b.real, err = newWorkspace(o.cli, o.provider); err != nil {
		return nil, err
	}
	if b.floor, err = newWorkspace(o.cli, ""); err != nil {
		return nil, err
	}
	version, err := exec.CommandContext(ctx, o.cli, "version").Output()
	b.version, _, _ = strings.Cut(string(version), "\n")
	return b, err
}

func (b *bench) close() {
	if err := errors.Join(b.platform.close(), b.real.close(), b.floor.close()); err != nil {
		fmt.Fprintln(b.log, "bench:", err)
	}
}

func (b *bench) measure(ctx context.Context) (*measurement, error) {
	var scenarios []scenario
	for _, hosts := range b.sizes {
		scenarios = append(scenarios, oneResource(hosts))
	}
	scenarios = append(scenarios, cmdbHosts(slices.Max(b.sizes)))
	if b.extra {
		scenarios = append(scenarios, shards(), dataSource(10000), makespan(1000, 2*time.Second))
	}
	if b.long {
		scenarios = append(scenarios, fleet())
	}
	scenarios = slices.DeleteFunc(scenarios, func(s scenario) bool { return !strings.Contains(s.name, b.only) })
	m := &measurement{}
	idle, err := b.rounds(ctx, oneResource(1), 1)
	if err != nil {
		return nil, err
	}
	for _, r := range idle {
		m.idle = max(m.idle, r.peak())
	}
	for _, s := range scenarios {
		rows, err := b.rounds(ctx, s, b.runs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		m.rows = append(m.rows, rows...)
	}
	return m, nil
}

// rounds runs a scenario several times and alternates provider and floor, so that other load affects both
// alike.
func (b *bench) rounds(ctx context.Context, s scenario, runs int) ([]*row, error) {
	rows := make([]*row, len(s.steps))
	for i, step := range s.steps {
		rows[i] = &row{scenario: s.name, step: step.name, hosts: s.hosts}
	}
	if s.read {
		if err := b.record(ctx, s); err != nil {
			return nil, err
		}
	}
	for n := range runs {
		fmt.Fprintf(b.log, "%s: run %d of %d\n", s.name, n+1, runs)
		if err := b.startOver(s); err != nil {
			return nil, err
		}
		for i, step := range s.steps {
			if err := b.step(ctx, s, step, rows[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", step.name, err)
			}
		}
	}
	return rows, nil
}

// startOver deletes states, and everything on the platform except the scenario's topology.
func (b *bench) startOver(s scenario) error {
	if err := errors.Join(b.platform.close(), b.real.reset(), b.floor.reset()); err != nil {
		return err
	}
	var err error
	b.platform, err = newPlatform(s.topology)
	if err == nil && s.takes > 0 {
		for _, op := range []int{simulator.OpStart, simulator.OpRestart} {
			b.platform.sim.Inject(simulator.Fault{Op: &op, Takes: s.takes})
		}
	}
	return err
}

func (b *bench) step(ctx context.Context, s scenario, step step, to *row) error {
	config := providerBlock(b.platform.server.URL) + s.config(s.hosts+step.more)
	if err := errors.Join(b.real.configure(config), b.floor.configure(config)); err != nil {
		return err
	}
	floor, err := b.floor.run(ctx, step)
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	b.platform.take()
	took, err := b.real.run(ctx, step)
	if err != nil {
		return err
	}
	to.floor = append(to.floor, floor)
	to.provider = append(to.provider, sample{took, b.platform.take()})
	return nil
}
