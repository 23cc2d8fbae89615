package providertest

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// InRounds runs a test as many times as ordinary says, a third of that with -short, or BK_TEST_ROUNDS times.
// Each round has its own random source. Seeds begin at 1 in every run, so that a change that breaks something
// fails at once. The long job uses other seeds. A round is named after its seed. Set BK_TEST_SEED to run it
// again:
//
//	BK_TEST_SEED=4711 BK_TEST_ROUNDS=1 go test -run TestLostConnections ./internal/interruption
//
// Concurrent work within a round has no fixed order, so it may take several attempts to reproduce a
// failure.
func InRounds(t *testing.T, ordinary int, round func(t *testing.T, chance *rand.Rand)) {
	t.Helper()
	if testing.Short() {
		ordinary = (ordinary + 2) / 3
	}
	rounds := int(numberFromEnv(t, "BK_TEST_ROUNDS", uint64(ordinary))) //nolint:gosec // a small number
	first := numberFromEnv(t, "BK_TEST_SEED", 1)
	for i := range rounds {
		seed := first + uint64(i) //nolint:gosec // never negative
		t.Run("seed-"+strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			round(t, rand.New(rand.NewPCG(seed, 0))) //nolint:gosec // nothing secret
		})
	}
}

// Through returns the faces that a row of a test uses: all of them or, with -short, one that depends on the
// name of the row.
func Through(t *testing.T, row string, faces []Face) []Face {
	t.Helper()
	if len(faces) == 0 || !testing.Short() {
		return faces
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(t.Name() + row)) // never fails
	turn := int(sum.Sum32() % uint32(len(faces)))
	return faces[turn : turn+1]
}

func numberFromEnv(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %s", name, err)
	}
	return n
}
