package hostedprocess_test

import "testing"

// What a console registered after another resource had taken the host over may be anybody's. It is left
// alone, and the host does not go without a word.
func TestOwnership_unowned(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config := w.declares(2)
		first, second := w.object(), w.object()
		first.Applied(config)
		second.Applied(config)
		first.Refresh()
		w.colleague(1, 2)
		w.play(first, step{name: "destroyed", says: "Hosts Registered Without An Owner"})
		expectHosted(w.T, w.sim, 2)
	})
}
