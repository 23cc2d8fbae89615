package rollouts

import (
	"runtime/debug"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // plans are short-lived
	providertest.Main(m)
}
