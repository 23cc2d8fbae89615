package providertest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package that serves the provider. It fails where a
// test called an API that the docs do not list, or left something behind.
func Main(m *testing.M) {
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
