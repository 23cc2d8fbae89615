// Package interruption cuts applies off: by Ctrl-C, by killing the provider or the CLI, and
// by losing connections. It checks that no host is lost and no operation runs twice.
package interruption

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }
