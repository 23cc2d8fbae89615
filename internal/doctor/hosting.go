package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// hosting checks what hosting does to a process that does not run.
func (r *probe) hosting(ctx context.Context) error {
	r.labelled("registered")
	if err := r.calm(ctx); err != nil {
		return err
	}
	if r.p.Gateway == bkapi.ESB {
		if err := r.registers(ctx); err != nil {
			return err
		}
	}
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	if err := r.p.pause(ctx, apart); err != nil {
		return err
	}
	got, err := r.operate(ctx, opHost)
	if err = unexpected("hosting", got, err); err != nil {
		return err
	}
	after, err := r.live(ctx)
	if err != nil {
		return err
	}
	if r.p.Gateway == bkapi.APIGW {
		r.times(after)
		r.settle("hosting-silent", yesNo(got.silent()), map[bool]string{true: "its content is empty", false: "it has a content"}[got.silent()])
		if err := r.hostingAgain(ctx, after); err != nil {
			return err
		}
	} else if err := r.renewed(ctx, "hosting-keeps-time", before); err != nil {
		return err
	}
	if err := r.watch(ctx); err != nil {
		return err
	}
	return r.unhosting(ctx)
}

// hostingAgain hosts a hosted process, which registers it again at the gateway.
func (r *probe) hostingAgain(ctx context.Context, before fleet.Status) error {
	if err := r.p.pause(ctx, apart); err != nil {
		return err
	}
	got, err := r.operate(ctx, opHost)
	switch {
	case err != nil:
		return fmt.Errorf("hosting again: %w", err)
	case got.Code == procapi.CodeRegistered:
		r.settle("hosting-once", belief.Yes, got.said())
		r.cannot("hosting again is refused", "reregistering-keeps-time")
	case got.Code == procapi.CodeOK:
		r.settle("hosting-once", belief.No, got.said())
		return r.renewed(ctx, "reregistering-keeps-time", before)
	default:
		r.cannot("hosting again has "+got.said(), "hosting-once", "reregistering-keeps-time")
	}
	return nil
}

// watch checks whether the agent starts what it hosts.
func (r *probe) watch(ctx context.Context) error {
	end := r.p.Clock.Now().Add(r.trial.Watch)
	for {
		status, err := r.live(ctx)
		switch {
		case err != nil:
			return err
		case status.State == fleet.Running:
			r.settle("hosting-starts", belief.Yes, "the agent started it")
			return nil
		case !r.p.Clock.Now().Before(end):
			r.settle("hosting-starts", belief.No, fmt.Sprintf("it was not started within %s", r.trial.Watch))
			return nil
		}
		if err := r.p.pause(ctx, min(5*time.Second, r.trial.Watch)); err != nil {
			return err
		}
	}
}

// unhosting unregisters a hosted process.
func (r *probe) unhosting(ctx context.Context) error {
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	got, err := r.unregisters(ctx, 0)
	if err = unexpected("unregistering", got, err); err != nil {
		return err
	}
	after, err := r.live(ctx)
	if err != nil {
		return err
	}
	r.keeps("unregister-keeps-hosting", true, "unregistering", before, after)
	if got, err = r.unregisters(ctx, 0); err != nil {
		return fmt.Errorf("unregistering: %w", err)
	}
	r.settle("second-unregister", code(got), got.said())
	return nil
}

// calm stops the process if necessary, and unhosts it on the ESB, whether it is registered or not.
func (r *probe) calm(ctx context.Context) error {
	for range 3 {
		status, err := r.live(ctx)
		switch {
		case err != nil:
			return err
		case status.State == fleet.Running:
			got, err := r.operate(ctx, opStop)
			if err = unexpected("stop", got, err); err != nil {
				return err
			}
		case status.Hosted && r.p.Gateway == bkapi.ESB: // at the gateway, unhosting would unregister it
			got, err := r.operate(ctx, opUnhost)
			if err = unexpected("unhosting", got, err); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return errors.New("the process does not stay stopped")
}
