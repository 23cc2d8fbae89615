package provider_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }
