package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// A resource says its identity in every answer: to a CLI that keeps it, and to one
// that has none to give because its state is from before there were identities.
func TestHostedProcess_identity(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"kept": true, "from-an-older-cli": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			p := sim.configured(t)
			resource := p.coreOf(testList, &kept{})
			config := faceESB.reference("./start.sh", 2)
			expect := func(when string) {
				t.Helper()
				want := any(map[string]any{"namespace": "web", "name": "nginx"})
				if diff := cmp.Diff(want, p.identityOf(resource.identity)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", when, diff)
				}
				if !keeps {
					resource.identity = nil
				}
			}

			resource.applied(config)
			expect("created")
			if said := resource.refresh(); len(said) > 0 {
				t.Fatal(said)
			}
			expect("refreshed")
			config["on_destroy"] = "stop"
			if _, said := resource.applyUnrefreshed(config); len(said) > 0 {
				t.Fatal(said)
			}
			expect("updated")

			// Nobody minds that it has none when it turns out to be gone.
			for n := 1; n <= 2; n++ {
				if err := sim.Unregister(testAddress(n), "web", "nginx"); err != nil {
					t.Fatal(err)
				}
			}
			if said := resource.refresh(); len(said) > 0 || !resource.state.IsNull() {
				t.Errorf("refreshed when it is gone: %s%s", resource.state, said)
			}
		})
	}
}

// An import by identity finds what an import by id finds.
func TestHostedProcess_importByIdentity(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	p := sim.configured(t)
	created := p.coreOf(testList, &kept{})
	created.applied(faceESB.reference("./start.sh", 2))

	resp, err := p.server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: testList, Identity: created.identity})
	p.fine(err, resp.Diagnostics)

	byID := p.coreOf(testList, &kept{})
	if said := byID.imports("web:nginx"); len(said) > 0 {
		t.Fatal(said)
	}
	byIdentity := p.coreOf(testList, &kept{})
	imported := resp.ImportedResources[0]
	byIdentity.state, byIdentity.private, byIdentity.identity = byIdentity.unwire(imported.State), imported.Private, imported.Identity
	if said := byIdentity.refresh(); len(said) > 0 {
		t.Fatal(said)
	}
	if diff := cmp.Diff(plain(t, byID.state), plain(t, byIdentity.state)); diff != "" {
		t.Errorf("state (-by id +by identity):\n%s", diff)
	}
	if diff := cmp.Diff(p.identityOf(byID.identity), p.identityOf(byIdentity.identity)); diff != "" {
		t.Errorf("identity (-by id +by identity):\n%s", diff)
	}
}
