package hostedprocess_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// A resource says its identity in every answer: to a CLI that keeps it, and to one
// that has none to give because its state is from before there were identities.
func TestHostedProcess_identity(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"kept": true, "from-an-older-cli": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := sim.Configured(t)
			resource := p.CoreOf(providertest.HostedType, &providertest.Kept{})
			config := providertest.FaceESB.Reference("./start.sh", 2)
			expect := func(when string) {
				t.Helper()
				want := any(map[string]any{"namespace": "web", "name": "nginx"})
				if diff := cmp.Diff(want, p.IdentityOf(resource.Identity)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", when, diff)
				}
				if !keeps {
					resource.Identity = nil
				}
			}

			resource.Applied(config)
			expect("created")
			if said := resource.Refresh(); len(said) > 0 {
				t.Fatal(said)
			}
			expect("refreshed")
			config["adopt_existing"] = true
			if _, said := resource.ApplyUnrefreshed(config); len(said) > 0 {
				t.Fatal(said)
			}
			expect("updated")

			// Nobody minds that it has none when it turns out to be gone.
			for n := 1; n <= 2; n++ {
				if err := sim.Unregister(providertest.Address(n), "web", "nginx"); err != nil {
					t.Fatal(err)
				}
			}
			if said := resource.Refresh(); len(said) > 0 || !resource.State.IsNull() {
				t.Errorf("refreshed when it is gone: %s%s", resource.State, said)
			}
		})
	}
}

// An import by identity finds what an import by id finds, and both say the identity
// before anything is refreshed.
func TestHostedProcess_importByIdentity(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := sim.Configured(t)
	created := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	created.Applied(providertest.FaceESB.Reference("./start.sh", 2))

	resp, err := p.Server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: providertest.HostedType, ID: "web:nginx"})
	p.Fine(err, resp.Diagnostics)
	if diff := cmp.Diff(p.IdentityOf(created.Identity), p.IdentityOf(resp.ImportedResources[0].Identity)); diff != "" {
		t.Errorf("identity of an import by id (-want +got):\n%s", diff)
	}
	resp, err = p.Server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: providertest.HostedType, Identity: created.Identity})
	p.Fine(err, resp.Diagnostics)

	byID := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	if said := byID.Imports("web:nginx"); len(said) > 0 {
		t.Fatal(said)
	}
	byIdentity := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	imported := resp.ImportedResources[0]
	byIdentity.State, byIdentity.Private, byIdentity.Identity = byIdentity.Unwire(imported.State), imported.Private, imported.Identity
	if said := byIdentity.Refresh(); len(said) > 0 {
		t.Fatal(said)
	}
	if diff := cmp.Diff(providertest.Plain(t, byID.State), providertest.Plain(t, byIdentity.State)); diff != "" {
		t.Errorf("state (-by id +by identity):\n%s", diff)
	}
	if diff := cmp.Diff(p.IdentityOf(byID.Identity), p.IdentityOf(byIdentity.Identity)); diff != "" {
		t.Errorf("identity (-by id +by identity):\n%s", diff)
	}
}
