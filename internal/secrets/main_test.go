// Package secrets puts secrets into every setting and every answer of the platform. It looks for them in
// everything that is printed, logged or stored in state.
package secrets

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }
