package provider

import (
	"strings"
	"testing"
)

func TestMain(m *testing.M) { runTests(m) }

// commaToLine turns a list of settings into lines of a block.
var commaToLine = strings.NewReplacer(", ", "\n  ")

// longPage is more of a page than any message should show.
var longPage = strings.Repeat("nothing to see here ", 100)
