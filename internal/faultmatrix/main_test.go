// Package faultmatrix runs every operation with every fault of the platform and of the network that can
// affect it. It checks what is reported, what state has, and what was sent. It also checks what the next
// plan and apply do once the fault is gone. The guide about faults is written from the same table.
package faultmatrix

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }
