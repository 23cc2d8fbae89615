// Package pagetest looks at the simulator's page as a person does: in a browser, while the
// provider works on the fleet.
package pagetest

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }
