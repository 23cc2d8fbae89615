package gse

import (
	"testing"
	"time"
)

// Unset values take the documented times.
func TestSpec_Settles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec           *Spec
		command, check time.Duration
	}{
		"no-spec": {nil, 60 * time.Second, 5 * time.Second},
		"not-set": {&Spec{}, 60 * time.Second, 5 * time.Second},
		"set":     {&Spec{OpTimeout: new(int64(7)), MonitorPolicy: MonitorPolicy{StartCheckSecs: new(int64(30))}}, 7 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if command, check := c.spec.Settles(); command != c.command || check != c.check {
				t.Errorf("got %s and %s, want %s and %s", command, check, c.command, c.check)
			}
		})
	}
}
