package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// The Chinese page lists the permissions of the English one, which another test compares with the calls.
func TestPermissions_areTheSameInChinese(t *testing.T) {
	t.Parallel()
	english, err := providertest.EndpointTable()
	if err != nil {
		t.Fatal(err)
	}
	chinese, err := providertest.EndpointTableInChinese()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(english, chinese); diff != "" {
		t.Errorf("permissions (-english +chinese):\n%s", diff)
	}
}
