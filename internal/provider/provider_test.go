package provider

import (
	"strings"
	"testing"
)

func TestMain(m *testing.M) { runTests(m) }

// longPage is more of a page than any message should show.
var longPage = strings.Repeat("nothing to see here ", 100)
