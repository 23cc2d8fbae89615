package provider_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// longPage is more of a page than any message should show.
var longPage = strings.Repeat("nothing to see here ", 100)
