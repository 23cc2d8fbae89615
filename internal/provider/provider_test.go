package provider_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// longPage is longer than what a message may quote.
var longPage = strings.Repeat("nothing to see here ", 100)
