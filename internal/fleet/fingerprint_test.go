package fleet_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// A changed fingerprint makes every host of every user look changed: whoever edits one of these needs another FingerprintVersion.
func TestFingerprint_golden(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec      any
		labels    map[string]string
		canonical string
		want      string
	}{
		"empty": {map[string]any{}, nil, `{"labels":{},"spec":{}}`, "v1-df07f794e9051fc4"},
		"map": {
			map[string]any{"user": "root", "cpu": 30.0, "mem": 0.5, "control": map[string]any{"start_cmd": "a && b", "all": []string{"z", "y"}}},
			map[string]string{"team": "sre", "env": "生产"},
			`{"labels":{"env":"生产","team":"sre"},"spec":{"control":{"all":["z","y"],"start_cmd":"a \u0026\u0026 b"},"cpu":30,"mem":0.5,"user":"root"}}`,
			"v1-2c18283abd9ddfd7",
		},
		"struct": {
			struct {
				Z string `json:"z"`
				B *int   `json:"b,omitempty"`
				A int64  `json:"a"`
			}{Z: "last", A: 7},
			map[string]string{},
			`{"labels":{},"spec":{"a":7,"z":"last"}}`,
			"v1-13cfb448e97bc511",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fleet.Fingerprint(test.spec, test.labels)
			fleettest.NoError(t, err)
			fleettest.Same(t, "result", test.want, got)
			sum := sha256.Sum256([]byte(test.canonical))
			documented := fleet.FingerprintVersion + hex.EncodeToString(sum[:])[:16]
			fleettest.Check(t, got == documented, "got %s, which is not that of %s (%s)", got, test.canonical, documented)
		})
	}
}

func TestFingerprint_largeNumbers(t *testing.T) {
	t.Parallel()
	of := func(id int64) string {
		sum, err := fleet.Fingerprint(map[string]any{"report_id": id}, nil)
		fleettest.NoError(t, err)
		return sum
	}
	fleettest.Check(t, of(math.MaxInt64) != of(math.MaxInt64-1), "two large numbers have one fingerprint")
}

func TestFingerprint_labels(t *testing.T) {
	t.Parallel()
	of := func(labels map[string]string) string {
		sum, err := fleet.Fingerprint(map[string]any{"a": 1}, labels)
		fleettest.NoError(t, err)
		return sum
	}
	base := of(map[string]string{"a": "1", "b": "2", "c": "3"})
	for range 20 { // the order of a map differs from one walk to the next
		if other := of(map[string]string{"c": "3", "b": "2", "a": "1"}); other != base {
			t.Fatalf("the order of labels matters: %s, %s", base, other)
		}
	}
	for name, labels := range map[string]map[string]string{
		"value": {"a": "1", "b": "2", "c": "4"}, "key": {"a": "1", "b": "2", "d": "3"}, "fewer": {"a": "1", "b": "2"}, "none": nil,
	} {
		fleettest.Check(t, of(labels) != base, "%s: another set of labels has the same fingerprint", name)
	}
	fleettest.Check(t, of(nil) == of(map[string]string{}), "no labels and an empty set of labels differ")
}

func TestFingerprint_refuses(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]any{"not-json": make(chan int), "not-an-object": []int{1}} {
		sum, err := fleet.Fingerprint(spec, nil)
		fleettest.Check(t, err != nil && sum == "", "%s: got %q, %v, want an error alone", name, sum, err)
	}
}

// A row that shows what the same object had registered before is no drift, unless the agent
// knows of a later registration and the row is of that one.
func TestInspect_superseded(t *testing.T) {
	t.Parallel()
	want := desired(fleet.EnsureHosted)
	want.Owner, want.Earlier = "O", []string{"v1-before"}
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
		drift                fleet.Code
	}{
		"the-agent-keeps-its-time":         {"v1-before", "O", 5, 5, 5, ""},
		"by-a-start":                       {"v1-before-started", "O", 5, 5, 5, ""},
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
			fleettest.Check(t, err == nil && got.Drift[host(1)] == c.drift, "drift %q, want %q; error: %v", got.Drift[host(1)], c.drift, err)
		})
	}
}
