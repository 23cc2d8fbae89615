package providertest

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

func (p *Protocol) CachedStatus(ctx context.Context) string {
	p.T.Helper()
	return p.Status(ctx, map[string]any{"mode": "cached"})
}

func (p *Protocol) LiveStatus(ctx context.Context) string {
	p.T.Helper()
	return p.Status(ctx, map[string]any{"spec": Spec("./start.sh")})
}

// Status is what reading a status says and what it leaves in state.
func (p *Protocol) Status(ctx context.Context, more map[string]any) string {
	p.T.Helper()
	const name = "bk_process_status"
	config := map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": HostsOf(1)}
	maps.Copy(config, more)
	schema := p.Schema.DataSourceSchemas[name]
	resp, err := p.Server.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: name, Config: p.Dynamic(schema, config)})
	if err != nil {
		p.T.Fatal(err)
	}
	said := DiagnosticsText(resp.Diagnostics)
	if resp.State != nil {
		said += fmt.Sprint(p.Read(resp.State, schema.ValueType()))
	}
	return said
}

// Configure gives what is said of settings.
func (p *Protocol) Configure(settings map[string]any) string {
	p.T.Helper()
	resp, err := p.Server.ConfigureProvider(p.T.Context(), &tfprotov6.ConfigureProviderRequest{Config: p.Dynamic(p.Schema.Provider, settings)})
	if err != nil {
		p.T.Fatal(err)
	}
	return DiagnosticsText(resp.Diagnostics)
}

// Validate is what a plan begins with.
func (c *Core) Validate(config map[string]any) Diagnostics {
	c.T.Helper()
	if config == nil {
		return nil
	}
	resp, err := c.Server.ValidateResourceConfig(c.Context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: c.typ, Config: c.Dynamic(c.Schema.ResourceSchemas[c.typ], config),
	})
	if err != nil {
		c.T.Fatal(err)
	}
	return resp.Diagnostics
}

// ValidateData is the same for a data source.
func (p *Protocol) ValidateData(typ string, config map[string]any) Diagnostics {
	p.T.Helper()
	resp, err := p.Server.ValidateDataResourceConfig(p.Context(), &tfprotov6.ValidateDataResourceConfigRequest{
		TypeName: typ, Config: p.Dynamic(p.Schema.DataSourceSchemas[typ], config),
	})
	if err != nil {
		p.T.Fatal(err)
	}
	return resp.Diagnostics
}

// IdentityOf is an identity as Go has it, nil where there is none.
func (p *Protocol) IdentityOf(identity *tfprotov6.ResourceIdentityData) any {
	p.T.Helper()
	if identity == nil || identity.IdentityData == nil {
		return nil
	}
	schemas, err := p.Server.GetResourceIdentitySchemas(p.T.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		p.T.Fatal(err)
	}
	return p.Read(identity.IdentityData, schemas.IdentitySchemas[HostedType].ValueType())
}

// Applied applies a configuration that is valid.
func (c *Core) Applied(config map[string]any) {
	c.T.Helper()
	if said := c.Validate(config); len(said) > 0 {
		c.T.Fatal(said)
	}
	if _, said := c.Apply(config); len(said) > 0 {
		c.T.Fatal(said)
	}
}
