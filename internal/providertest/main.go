package providertest

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// Main is the TestMain of a package that serves the provider. The run fails if a test called an API that the
// docs do not list, or left a goroutine running. Host names are not resolved, so that tests send nothing to
// other machines.
func Main(m *testing.M) {
	debug.SetGCPercent(400) // garbage collection took a third of the seconds that tests run
	knowNoHost()
	code := m.Run()
	err := checkRecorded()
	if code == 0 { // failed tests may leave goroutines
		// In the test's own process, go-plugin never closes the pipes of the output.
		err = errors.Join(err, goleak.Find(goleak.IgnoreAnyFunction("github.com/hashicorp/go-plugin.copyChan")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
