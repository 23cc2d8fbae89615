package doctor

import (
	"context"
	"fmt"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// registers registers the process, or registers it again, as the face does.
func (r *probe) registers(ctx context.Context) error {
	if r.p.Gateway == bkapi.APIGW {
		got, err := r.operate(ctx, opHost)
		return unexpected("hosting", got, err)
	}
	got, err := r.registration(ctx, "register_proc_info", 0)
	return unexpected("register_proc_info", got, err)
}

// unregisters removes the registration.
func (r *probe) unregisters(ctx context.Context, supplier int) (result, error) {
	if r.p.Gateway == bkapi.APIGW {
		return r.operate(ctx, opUnhost)
	}
	return r.registration(ctx, "unregister_proc_info", supplier)
}

// registering checks the calls that only the ESB has.
func (r *probe) registering(ctx context.Context) error {
	r.labelled("registered")
	got, err := r.registration(ctx, "update_proc_info", 0)
	if err != nil {
		return fmt.Errorf("update_proc_info: %w", err)
	}
	r.settle("update-refuses", yesNo(got.Code != procapi.CodeOK), got.said())
	if got.Code == procapi.CodeOK {
		if _, err := r.unregisters(ctx, 0); err != nil {
			return fmt.Errorf("unregister_proc_info: %w", err)
		}
	}
	if err := r.registers(ctx); err != nil {
		return err
	}
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	r.times(before)
	if before.HostedKnown {
		r.settle("register-hosts", yesNo(before.Hosted), fmt.Sprintf("hosted after register_proc_info: %t", before.Hosted))
	} else {
		r.cannot(hostingUnknown, "register-hosts")
	}
	if got, err = r.registration(ctx, "register_proc_info", 0); err != nil {
		return fmt.Errorf("register_proc_info: %w", err)
	}
	r.settle("second-register", code(got), got.said())
	err = r.renewing(ctx, "reregistering-keeps-time", before, func() (result, error) { return r.registration(ctx, "update_proc_info", 0) })
	if err != nil {
		return err
	}
	return r.suppliers(ctx)
}

// times checks whether the agent reports times, by its status of a registered process.
func (r *probe) times(after fleet.Status) {
	r.timed = after.RegisterTime > 0
	r.settle("agents-without-times", yesNo(!r.timed), fmt.Sprintf("register_time of a registered process: %d", after.RegisterTime))
}

// renewing checks whether a call renews the registration time.
func (r *probe) renewing(ctx context.Context, id string, before fleet.Status, call func() (result, error)) error {
	if err := r.p.pause(ctx, apart); err != nil {
		return err
	}
	got, err := call()
	if err = unexpected(id, got, err); err != nil {
		return err
	}
	return r.renewed(ctx, id, before)
}

// renewed compares the registration time with an earlier one.
func (r *probe) renewed(ctx context.Context, id string, before fleet.Status) error {
	after, err := r.live(ctx)
	switch {
	case err != nil:
		return err
	case before.RegisterTime == 0 || after.RegisterTime == 0:
		r.cannot("the agent reports no times", id)
	default:
		r.settle(id, yesNo(after.RegisterTime == before.RegisterTime), fmt.Sprintf("register_time moved by %d s", after.RegisterTime-before.RegisterTime))
	}
	return nil
}

// suppliers unregisters with another supplier id, then twice with the right one.
func (r *probe) suppliers(ctx context.Context) error {
	var codes [3]result
	for i := range codes {
		supplier := 0
		if i == 0 {
			supplier = 1
		}
		var err error
		if codes[i], err = r.unregisters(ctx, supplier); err != nil {
			return fmt.Errorf("unregister_proc_info: %w", err)
		}
	}
	found := fmt.Sprintf("with another supplier id %s; then with its own %s", codes[0].said(), codes[1].said())
	switch first, second := codes[0].Code == procapi.CodeOK, codes[1].Code == procapi.CodeOK; {
	case first != second:
		r.settle("suppliers-apart", yesNo(second), found)
	default:
		r.cannot(found, "suppliers-apart")
	}
	r.settle("second-unregister", code(codes[2]), codes[2].said())
	return nil
}
