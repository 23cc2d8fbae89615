package provider

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
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

// commaToLine turns a list of settings into lines of a block.
var commaToLine = strings.NewReplacer(", ", "\n  ")

// longPage is more of a page than any message should show.
var longPage = strings.Repeat("nothing to see here ", 100)
