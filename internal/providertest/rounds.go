package providertest

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// InRounds runs a test as often as ordinary says, a third of it with -short, or BK_TEST_ROUNDS, each
// round with a random source of its own. Rounds have the seeds from 1 on, the same in every run: what
// a change breaks is seen with the change. The long job looks further, from other seeds.
// A round is named after its seed; with that in BK_TEST_SEED the first round is the same
// again:
//
//	BK_TEST_SEED=4711 BK_TEST_ROUNDS=1 go test -run TestLostConnections ./internal/interruption
//
// What runs concurrently within a round has no fixed order, so it may take more than one
// attempt to see the same thing again.
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

// Through are the faces that a row of a test goes through: all of them, or with -short one, which one
// by the name of the row.
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
