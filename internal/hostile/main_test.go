// Package hostile tests the provider on a hostile platform. Each test is a case in which the provider
// once lost a host or stopped another owner's process. Or it reported something that it had not done.
package hostile_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }
