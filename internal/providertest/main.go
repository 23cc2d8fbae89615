package providertest

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// Main is the TestMain of a package that serves the provider. The run fails if a test
// called an API that the docs do not list, or left a goroutine behind. Host names are not
// resolved: tests ask nobody beyond this machine.
func Main(m *testing.M) {
	debug.SetGCPercent(400) // tests live for seconds, and a third of their time was the collector's
	knowNoHost()
	code := m.Run()
	err := checkRecorded()
	if code == 0 { // a test that failed may have left something behind
		// Where go-plugin serves a provider in the test's own process, it reads from
		// pipes for output that it never closes.
		err = errors.Join(err, goleak.Find(goleak.IgnoreAnyFunction("github.com/hashicorp/go-plugin.copyChan")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
