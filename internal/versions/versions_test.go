package versions_test

import (
	"os"
	"testing"
)

// Whatever a release has works, and whatever it is said to lack it lacks.
func TestAccVersions(t *testing.T) {
	t.Parallel()
	at := atHand(t)
	if os.Getenv("BK_TEST_RECORD") != "" {
		t.Cleanup(func() {
			if !t.Failed() {
				keepRun(t, at)
			}
		})
	}
	for _, f := range features {
		t.Run(f.name.english, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, at)
			if at.has(f.since) {
				f.try(w)
				return
			}
			f.lack(w)
			t.Skipf("%s lacks it", at)
		})
	}
}
