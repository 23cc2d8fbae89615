// Package hostile tests the provider on a hostile platform. Each test is a case in which the provider
// once lost a host, stopped another owner's process, or reported something that it had not done.
package hostile_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }
