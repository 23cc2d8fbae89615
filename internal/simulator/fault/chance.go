package fault

import (
	"math/rand/v2"
	"sync"
	"time"
)

// dice decide the random parts of Chance and DelayMax.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newDice(seed uint64) *dice {
	if seed == 0 {
		seed = rand.Uint64()
	}
	return &dice{random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // bad luck is no secret
}

// roll returns a number in [0, 1).
func (d *dice) roll() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.Float64()
}

// strikes reports whether a fault that matches applies this time.
func (f *fault) strikes() bool { return f.Chance == 0 || f.dice.roll() < f.Chance }

// pause returns how long a fault holds a request back.
func (f *fault) pause() time.Duration {
	if f.DelayMax <= f.Delay {
		return f.Delay
	}
	return f.Delay + time.Duration(f.dice.roll()*float64(f.DelayMax-f.Delay))
}
