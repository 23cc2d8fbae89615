package providertest

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// profiled is the profile that BK_TEST_PLATFORM names, or an empty one.
var profiled = sync.OnceValues(func() (belief.Profile, error) {
	file := os.Getenv("BK_TEST_PLATFORM")
	if file == "" {
		return belief.Profile{}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return belief.Profile{}, err
	}
	return belief.ParseProfile(file, text)
})

// onPlatform makes a simulator behave like the platform of the profile that BK_TEST_PLATFORM names. Like the
// provider's waits, a lag of one second becomes one millisecond.
func onPlatform(tb testing.TB, sim *simulator.Server) {
	tb.Helper()
	profile, err := profiled()
	if err == nil {
		err = sim.With(profile.Switches()...)
	}
	if err != nil {
		tb.Fatalf("BK_TEST_PLATFORM: %v", err)
	}
	lag, _ := time.ParseDuration(profile.Value("status-lag"))
	sim.Lag = lag / 1000
	if profile.Value("labels-added") == belief.Yes {
		sim.RowLabels = map[string]string{"added_by_platform": "1"}
	}
}

// Platform is a platform that differs from the provider's assumptions.
type Platform struct {
	Switches []string // of the simulator, in addition to those of BK_TEST_PLATFORM
	Faces    []Face   // on which the difference matters
}

// Platforms returns those on which the usual operations must work: the one that BK_TEST_PLATFORM names, or
// one for each switch of the simulator.
func Platforms() map[string]Platform {
	faces := []Face{FaceESB, FaceGateway, FaceJOB}
	if os.Getenv("BK_TEST_PLATFORM") != "" {
		return map[string]Platform{"BK_TEST_PLATFORM": {Faces: faces}}
	}
	platforms := make(map[string]Platform)
	for _, name := range simulator.Switches() {
		b, _ := belief.Find(name)
		p := Platform{Switches: []string{name}}
		for _, face := range faces {
			if b.On(belief.Face(face)) {
				p.Faces = append(p.Faces, face)
			}
		}
		if name != "job-removed" { // nothing works on that one
			platforms[name] = p
		}
	}
	return platforms
}
