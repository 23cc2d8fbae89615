package fleet_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// A row that shows what the same object had registered before is no drift, unless the agent
// knows of a later registration and the row is of that one.
func TestInspect_superseded(t *testing.T) {
	t.Parallel()
	want := desired(fleet.EnsureHosted)
	want.OwnerLabel, want.Owner, want.Earlier = "tf_spec_owner", "O", []string{"v1-before"}
	labels := func(fingerprint, owner string) map[string]string {
		all := map[string]string{want.FingerprintLabel: fingerprint, "tf_spec_owner": owner}
		for key, value := range want.Labels {
			all[key] = value
		}
		return all
	}
	for name, c := range map[string]struct {
		fingerprint, owner   string
		inFile, now, atApply int64
		drift                fleet.Drift
	}{
		"the-agent-keeps-its-time":         {"v1-before", "O", 5, 5, 5, ""},
		"the-time-of-ours-is-not-known":    {"v1-before", "O", 5, 5, 0, ""},
		"the-file-is-older-than-the-agent": {"v1-before", "O", 5, 9, 9, ""},
		"registered-back-since":            {"v1-before", "O", 12, 12, 9, fleet.OtherSpec},
		"another-owner":                    {"v1-before", "X", 5, 5, 5, fleet.OtherSpec},
		"never-ours":                       {"v1-strange", "O", 5, 5, 5, fleet.OtherSpec},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, agent := row(fleet.Running, true, c.inFile), row(fleet.Running, true, c.now)
			file.Labels = labels(c.fingerprint, c.owner)
			p := &process{cached: answer(file), live: answer(agent)}
			got, err := fleet.Inspect(t.Context(), p, hosts(1), want, nil, map[fleet.Host]int64{host(1): c.atApply})
			if err != nil || got.Drift[host(1)] != c.drift {
				t.Errorf("drift %q, want %q; error: %v", got.Drift[host(1)], c.drift, err)
			}
		})
	}
}
