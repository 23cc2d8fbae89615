package providertest

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// CachedStatus reads bk_process_status with mode "cached"; see Status.
func (p *Protocol) CachedStatus(ctx context.Context) string {
	p.T.Helper()
	return p.Status(ctx, map[string]any{"mode": "cached"})
}

// LiveStatus reads bk_process_status in its default mode, which queries the agents; see Status.
func (p *Protocol) LiveStatus(ctx context.Context) string {
	p.T.Helper()
	return p.Status(ctx, map[string]any{"spec": Spec("./start.sh")})
}

// Status reads bk_process_status on host web-1 and returns the diagnostics and the values as text; more holds
// further attributes.
func (p *Protocol) Status(ctx context.Context, more map[string]any) string {
	p.T.Helper()
	const name = "bk_process_status"
	config := map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": HostsOf(1)}
	maps.Copy(config, more)
	schema := p.Schema.DataSourceSchemas[name]
	resp, err := p.Server.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: name, Config: p.Dynamic(schema, config)})
	NoError(p.T, err)
	said := DiagnosticsText(resp.Diagnostics)
	if resp.State != nil {
		said += fmt.Sprint(p.Read(resp.State, schema.ValueType()))
	}
	return said
}

// Configure configures the provider and returns the diagnostics as text.
func (p *Protocol) Configure(settings map[string]any) string {
	p.T.Helper()
	resp, err := p.Server.ConfigureProvider(p.T.Context(), &tfprotov6.ConfigureProviderRequest{Config: p.Dynamic(p.Schema.Provider, settings)})
	NoError(p.T, err)
	return DiagnosticsText(resp.Diagnostics)
}

// Validate validates a configuration, as Terraform does before a plan. nil stands for a destroy.
func (c *Core) Validate(config map[string]any) Diagnostics {
	c.T.Helper()
	if config == nil {
		return nil
	}
	resp, err := c.Server.ValidateResourceConfig(c.Context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: c.typ, Config: c.Dynamic(c.Schema.ResourceSchemas[c.typ], config),
	})
	NoError(c.T, err)
	return resp.Diagnostics
}

// ValidateData validates the configuration of a data source.
func (p *Protocol) ValidateData(typ string, config map[string]any) Diagnostics {
	p.T.Helper()
	resp, err := p.Server.ValidateDataResourceConfig(p.Context(), &tfprotov6.ValidateDataResourceConfigRequest{
		TypeName: typ, Config: p.Dynamic(p.Schema.DataSourceSchemas[typ], config),
	})
	NoError(p.T, err)
	return resp.Diagnostics
}

// IdentityOf returns the identity of a hosted process as Plain does, nil if there is none.
func (p *Protocol) IdentityOf(identity *tfprotov6.ResourceIdentityData) any {
	p.T.Helper()
	if identity == nil || identity.IdentityData == nil {
		return nil
	}
	schemas, err := p.Server.GetResourceIdentitySchemas(p.T.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	NoError(p.T, err)
	return p.Read(identity.IdentityData, schemas.IdentitySchemas[HostedType].ValueType())
}

// Applied validates and applies a configuration. It ends the test if there are any diagnostics.
func (c *Core) Applied(config map[string]any) {
	c.T.Helper()
	if said := c.Validate(config); len(said) > 0 {
		c.T.Fatal(said)
	}
	if _, said := c.Apply(config); len(said) > 0 {
		c.T.Fatal(said)
	}
}
