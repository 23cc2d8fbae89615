package platform

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// logging is a platform with a stopped clock, and its log without times.
func logging() (*Platform, *bytes.Buffer) {
	var text bytes.Buffer
	handler := slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return &Platform{Log: slog.New(handler), Pace: Pace{Now: func() time.Time { return time.Unix(0, 0) }}}, &text
}

func inWaves(p *Platform, inventory fleet.Inventory, rollout fleet.Rollout, outcomes map[string]fleet.Outcome) {
	run := Run{Process: "web:nginx", Operation: "restart", Keys: inventory, Rollout: rollout}
	p.Logged(context.Background(), run, inventory.Hosts(), func(ctx context.Context, rollout fleet.Rollout) fleet.Results {
		return rollout.Run(ctx, inventory.Hosts(), func(_ context.Context, wave fleet.Wave) fleet.Results {
			results := make(fleet.Results)
			for _, h := range wave.Hosts {
				results[h] = outcomes[inventory.Key(h)]
			}
			return results
		})
	})
}

func TestLogged(t *testing.T) {
	t.Parallel()
	inventory, _ := fleettest.Inventory(t, 5)
	p, text := logging()
	watched := 0
	inWaves(p, inventory, fleet.Rollout{Waves: fleet.BatchesOf(2), MaxFailed: fleet.UpTo(1), Watch: func(fleet.Progress) { watched++ }}, map[string]fleet.Outcome{
		"h01": {Verdict: fleet.Failed, Code: 117, Meaning: "the agent is abnormal or not found", TaskID: "T1"},
		"h03": {Verdict: fleet.Lost, TaskID: "T2"},
	})
	want := `level=INFO msg="operation begins" process=web:nginx operation=restart hosts=5 which=h01…h05
level=INFO msg="wave begins" process=web:nginx operation=restart wave=1/3 after=0s done=0/5 failed=0 unknown=0
level=INFO msg="wave begins" process=web:nginx operation=restart wave=2/3 after=0s done=1/5 failed=1 unknown=0
level=INFO msg="operation over" process=web:nginx operation=restart took=0s outcome="5 hosts: 2 done, 1 failed, 1 outcome unknown, 1 not tried" tasks="T1, T2" reasons="h01 (0:10.0.0.1): 117, the agent is abnormal or not found; h03 (0:10.0.0.3): outcome unknown (the operation was sent and its answer got lost); h05 (0:10.0.0.5): not tried: too many hosts had failed before its wave"
`
	procapitest.WantEqual(t, "result", want, text.String())
	procapitest.Check(t, watched != 0, "the caller's observer got no progress")
}

type process struct{ fleet.Process }

func (process) Settles() (command, startCheck, stopCheck time.Duration) {
	return time.Minute, 5 * time.Second, 0
}

func (process) OneShot() bool { return false }

func (process) Operate(_ context.Context, _ fleet.Operation, hosts []fleet.Host, _ fleet.Observer) fleet.Results {
	return fleet.Same(hosts, fleet.Outcome{Verdict: fleet.Done})
}

func (process) LiveStatus(_ context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	statuses := make(map[fleet.Host]fleet.Status)
	for _, h := range hosts {
		statuses[h] = fleet.Status{State: fleet.Running, PID: 7}
	}
	return statuses, nil
}

// The log says what a wave waits for.
func TestLogged_gate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inventory, hosts := fleettest.Inventory(t, 3)
		p, text := logging()
		began := time.Now()
		p.Pace.Now = func() time.Time { return time.Unix(0, 0).Add(time.Since(began)) }
		run := Run{Process: "web:nginx", Operation: "restart", Keys: inventory, Rollout: fleet.Rollout{
			Waves: fleet.BatchesOf(2), Healthy: &fleet.Gate{StableFor: 10 * time.Second, Within: time.Minute},
		}}
		p.Logged(t.Context(), run, hosts, func(ctx context.Context, rollout fleet.Rollout) fleet.Results {
			return fleet.Run(ctx, fleet.Restart, fleet.Ascending, []fleet.Member{{Process: process{}, Hosts: hosts}}, hosts, rollout)[0]
		})
		want := `level=INFO msg="operation begins" process=web:nginx operation=restart hosts=3 which=h01…h03
level=INFO msg="wave begins" process=web:nginx operation=restart wave=1/2 after=0s done=0/3 failed=0 unknown=0
level=INFO msg="waiting for hosts to be stable" process=web:nginx operation=restart wave=1/2 after=0s done=0/3 failed=0 unknown=0 watched=2 stable_for=10s within=1m0s
level=INFO msg="wave begins" process=web:nginx operation=restart wave=2/2 after=10s done=2/3 failed=0 unknown=0
level=INFO msg="waiting for hosts to be stable" process=web:nginx operation=restart wave=2/2 after=10s done=2/3 failed=0 unknown=0 watched=1 stable_for=10s within=1m0s
level=INFO msg="operation over" process=web:nginx operation=restart took=20s outcome="3 hosts: 3 done"
`
		procapitest.WantEqual(t, "result", want, text.String())
	})
}

// The log stays short with any number of waves, and has the first and the last.
func TestLogged_manyWaves(t *testing.T) {
	t.Parallel()
	for _, waves := range []int{1, 2, 50, 51, 100, 101, 249, 250} {
		t.Run(fmt.Sprint(waves), func(t *testing.T) {
			t.Parallel()
			inventory, _ := fleettest.Inventory(t, waves)
			p, text := logging()
			inWaves(p, inventory, fleet.Rollout{Waves: fleet.BatchesOf(1)}, nil)
			if n := strings.Count(text.String(), "\n"); n > maxWaveLines+3 || (waves > 1 && n < min(waves, maxWaveLines/2)+2) {
				t.Errorf("%d lines for %d waves", n, waves)
			}
			for _, wave := range []string{fmt.Sprintf("wave=1/%d ", waves), fmt.Sprintf("wave=%d/%[1]d ", waves)} {
				logged := strings.Contains(text.String(), wave)
				procapitest.Check(t, logged == (waves > 1), "%q is logged: %t", wave, logged)
			}
		})
	}
}

func TestLogged_nothing(t *testing.T) {
	t.Parallel()
	p, text := logging()
	p.Logged(t.Context(), Run{}, nil, func(context.Context, fleet.Rollout) fleet.Results { return nil })
	procapitest.Check(t, text.Len() == 0, "a run on no host is logged: %s", text)
	_, hosts := fleettest.Inventory(t, 1)
	for name, p := range map[string]*Platform{"no-platform": nil, "no-log": {}} {
		ran := false
		p.Logged(t.Context(), Run{}, hosts, func(context.Context, fleet.Rollout) fleet.Results { ran = true; return nil })
		procapitest.Check(t, ran, "%s: it did not run", name)
	}
}
