// Package hostile tries to have a host lost, as a platform can that means ill: each test is a
// way in which the provider once lost one, stopped what was not its own, or said that it had
// done what it had not.
package hostile_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }
