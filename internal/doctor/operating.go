package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// starting checks what a start does to a process that is registered and does not run.
func (r *probe) starting(ctx context.Context) error {
	r.labelled("registered")
	if err := r.calm(ctx); err != nil {
		return err
	}
	if err := r.registers(ctx); err != nil {
		return err
	}
	if r.p.Gateway == bkapi.ESB {
		if err := r.calm(ctx); err != nil {
			return err
		}
	}
	if r.timed { // the times must differ, and an agent that starts what it hosts needs time to do so
		if err := r.p.pause(ctx, apart); err != nil {
			return err
		}
	}
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	if before.State == fleet.Running {
		if err := r.calm(ctx); err != nil {
			return err
		}
		if before, err = r.live(ctx); err != nil {
			return err
		}
	}
	r.labelled("started")
	got, err := r.operate(ctx, opStart)
	if err = unexpected("start", got, err); err != nil {
		return err
	}
	registered := r.p.Gateway == bkapi.ESB || before.RegisterTime > 0 || !r.timed && before.Hosted
	return r.started(ctx, before, registered)
}

// started checks the state after a start. registered reports whether the process was registered before.
func (r *probe) started(ctx context.Context, before fleet.Status, registered bool) error {
	began := r.p.Clock.Now()
	after, err := r.live(ctx)
	if err != nil {
		return err
	}
	r.keeps("start-keeps-unhosted", false, "a start", before, after)
	if err := r.renewed(ctx, "starting-keeps-time", before); err != nil {
		return err
	}
	got, err := r.operate(ctx, opStart)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	r.settle("second-start", code(got), got.said())

	row, err := r.freshRow(ctx, began)
	if err != nil || row == nil {
		return err
	}
	r.labels(*row, registered)
	if r.p.Gateway == bkapi.APIGW {
		r.names(*row)
		return r.otherName(ctx)
	}
	return nil
}

// restarting checks what a restart does to a process that runs and is not hosted.
func (r *probe) restarting(ctx context.Context) error {
	if err := r.runs(ctx); err != nil {
		return err
	}
	got, err := r.operate(ctx, opUnhost)
	if err = unexpected("unhosting", got, err); err != nil {
		return err
	}
	before, err := r.live(ctx)
	switch {
	case err != nil:
		return err
	case before.Hosted || before.State != fleet.Running:
		return errors.New("the process is hosted after it was unhosted, or does not run")
	}
	got, err = r.operate(ctx, opRestart)
	if err = unexpected("restart", got, err); err != nil {
		return err
	}
	after, err := r.live(ctx)
	if err != nil {
		return err
	}
	r.keeps("restart-keeps-hosting", false, "a restart", before, after)
	return nil
}

// runs makes the process run and be hosted.
func (r *probe) runs(ctx context.Context) error {
	status, err := r.live(ctx)
	if err != nil {
		return err
	}
	if status.State != fleet.Running {
		got, err := r.operate(ctx, opStart)
		if err = unexpected("start", got, err); err != nil {
			return err
		}
	}
	if status.Hosted {
		return nil
	}
	got, err := r.operate(ctx, opHost)
	if err == nil && got.Code == procapi.CodeRegistered { // the start has hosted it
		return nil
	}
	return unexpected("hosting", got, err)
}

// stopping checks what a stop does to a process that runs and is hosted.
func (r *probe) stopping(ctx context.Context) error {
	if err := r.runs(ctx); err != nil {
		return err
	}
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	got, err := r.operate(ctx, opStop)
	if err = unexpected("stop", got, err); err != nil {
		return err
	}
	after, err := r.live(ctx)
	if err != nil {
		return err
	}
	r.keeps("stop-keeps-hosting", true, "a stop", before, after)
	if got, err = r.operate(ctx, opStop); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	r.settle("second-stop", code(got), got.said())
	if _, answered := r.answers["start-keeps-unhosted"]; answered || after.Hosted {
		return nil
	}
	got, err = r.operate(ctx, opStart)
	if err = unexpected("start", got, err); err != nil {
		return err
	}
	again, err := r.live(ctx)
	if err == nil {
		r.keeps("start-keeps-unhosted", false, "a start", after, again)
	}
	return err
}

// killing checks what a kill does to a process that runs and is hosted.
func (r *probe) killing(ctx context.Context) error {
	if err := r.runs(ctx); err != nil {
		return err
	}
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	got, err := r.operate(ctx, opKill)
	if err = unexpected("kill", got, err); err != nil {
		return err
	}
	after, err := r.live(ctx)
	if err == nil {
		r.keeps("kill-keeps-hosting", true, "a kill", before, after)
	}
	return err
}

// onceOnly starts a one-shot process (auto_type 2) that ends at once.
func (r *probe) onceOnly(ctx context.Context) error {
	if err := r.calm(ctx); err != nil {
		return err
	}
	resident := r.spec
	defer func() { r.spec = resident }()
	once := *resident
	once.MonitorPolicy.AutoType = gse.AutoOneShot
	once.Control.StartCmd = new("true")
	r.spec = &once
	got, err := r.operate(ctx, opStart)
	if err != nil {
		return fmt.Errorf("start of a one-shot process: %w", err)
	}
	r.settle("one-shot-start", code(got), got.said())
	return nil
}
