// Package faultmatrix runs every operation into every fault of the platform and of the
// network that it can meet, and checks what is reported, what state holds, what was sent,
// and what the next plan and apply do once the fault is gone. The guide about faults is
// written from the same table.
package faultmatrix

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }
