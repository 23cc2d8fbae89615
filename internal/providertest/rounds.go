package providertest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// InRounds runs a test so many times, each time with a source of chance of its own.
// BK_TEST_ROUNDS sets another number of rounds. A round is named after its seed:
// BK_TEST_SEED with that number begins with the same one, as in
//
//	BK_TEST_SEED=4711 BK_TEST_ROUNDS=1 go test -run TestLostConnections ./internal/interruption
//
// What runs side by side within a round has no order of its own, so it may take more
// than one try to see the same thing again.
func InRounds(t *testing.T, ordinary int, round func(t *testing.T, chance *rand.Rand)) {
	t.Helper()
	rounds := int(numberFromEnv(t, "BK_TEST_ROUNDS", uint64(ordinary))) //nolint:gosec // a small number
	first := numberFromEnv(t, "BK_TEST_SEED", uint64(rand.Uint32()))
	for i := range rounds {
		seed := first + uint64(i) //nolint:gosec // never negative
		t.Run("seed-"+strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			round(t, rand.New(rand.NewPCG(seed, 0))) //nolint:gosec // nothing secret
		})
	}
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
