package processoperation

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	type step struct {
		after  time.Duration
		latest fleet.Progress
	}
	wave := func(n, done, failed int) fleet.Progress {
		return fleet.Progress{Wave: n, Waves: 10, Hosts: 1000, Done: done, Failed: failed}
	}
	for name, c := range map[string]struct {
		steps []step
		last  time.Duration // between the last update and the end
		want  []string      // with the second at which it was sent
	}{
		"nothing-happened": {last: 2 * time.Minute},
		"on-change": {
			steps: []step{{0, wave(1, 0, 0)}, {2 * time.Second, wave(1, 90, 1)}, {68 * time.Second, wave(9, 812, 3)}},
			want: []string{
				"0 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (0s)",
				"2 restart web:nginx: 90/1000 done, 1 failed, wave 1/10 (2s)",
				"32 restart web:nginx: 90/1000 done, 1 failed, wave 1/10 (32s)",
				"62 restart web:nginx: 90/1000 done, 1 failed, wave 1/10 (1m2s)",
				"70 restart web:nginx: 812/1000 done, 3 failed, wave 9/10 (1m10s)",
			},
		},
		"silence": {
			steps: []step{{0, wave(1, 0, 0)}}, last: 65 * time.Second,
			want: []string{
				"0 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (0s)",
				"30 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (30s)",
				"60 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (1m0s)",
			},
		},
		"a-burst-is-one-message": {
			steps: []step{{0, wave(1, 0, 0)}, {10 * time.Millisecond, wave(1, 1, 0)}, {10 * time.Millisecond, wave(1, 2, 0)}, {10 * time.Millisecond, wave(1, 3, 0)}},
			last:  5 * time.Second,
			want:  []string{"0 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (0s)", "1 restart web:nginx: 3/1000 done, 0 failed, wave 1/10 (1s)"},
		},
		"unknown-is-not-failed": {
			steps: []step{{0, fleet.Progress{Wave: 10, Waves: 10, Hosts: 1000, Done: 997, Failed: 1, Unknown: 2}}},
			want:  []string{"0 restart web:nginx: 997/1000 done, 1 failed, 2 outcome unknown, wave 10/10 (0s)"},
		},
		"waits-at-the-gate": {
			steps: []step{{0, fleet.Progress{Wave: 9, Waves: 10, Hosts: 1000, Done: 800, Unknown: 2, Watched: 12}}},
			want:  []string{"0 restart web:nginx: 800/1000 done, 0 failed, 2 outcome unknown, waiting for 12 to be stable, wave 9/10 (0s)"},
		},
		"the-end-waits-for-nothing": {
			steps: []step{{0, wave(1, 0, 0)}, {10 * time.Millisecond, wave(10, 1000, 0)}},
			want:  []string{"0 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (0s)", "0 restart web:nginx: 1000/1000 done, 0 failed, wave 10/10 (0s)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var (
					got   []string
					began = time.Now()
				)
				p := newProgress(platform.DefaultPace, "restart web:nginx", func(message string) {
					got = append(got, fmt.Sprintf("%d %s", int(time.Since(began).Seconds()), message))
				})
				for _, s := range c.steps {
					<-time.After(s.after)
					p.update(s.latest)
				}
				<-time.After(c.last)
				p.stop()
				sent := len(got)
				<-time.After(time.Hour)
				if len(got) != sent {
					t.Errorf("sent after the end: %q", got[sent:])
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
