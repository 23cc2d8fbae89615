package provider

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

func (p *protocol) cachedStatus(ctx context.Context) string {
	p.t.Helper()
	return p.status(ctx, map[string]any{"mode": "cached"})
}

func (p *protocol) liveStatus(ctx context.Context) string {
	p.t.Helper()
	return p.status(ctx, map[string]any{"spec": testSpec("./start.sh")})
}

// status is what reading a status says and what it leaves in state.
func (p *protocol) status(ctx context.Context, more map[string]any) string {
	p.t.Helper()
	const name = "bk_process_status"
	config := map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(1)}
	maps.Copy(config, more)
	schema := p.schema.DataSourceSchemas[name]
	resp, err := p.server.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: name, Config: p.dynamic(schema, config)})
	if err != nil {
		p.t.Fatal(err)
	}
	said := diagnosticsText(resp.Diagnostics)
	if resp.State != nil {
		said += fmt.Sprint(p.read(resp.State, schema.ValueType()))
	}
	return said
}

// configure gives what is said of settings.
func (p *protocol) configure(settings map[string]any) string {
	p.t.Helper()
	resp, err := p.server.ConfigureProvider(p.t.Context(), &tfprotov6.ConfigureProviderRequest{Config: p.dynamic(p.schema.Provider, settings)})
	if err != nil {
		p.t.Fatal(err)
	}
	return diagnosticsText(resp.Diagnostics)
}

// validate is what a plan begins with.
func (c *core) validate(config map[string]any) diagnostics {
	c.t.Helper()
	if config == nil {
		return nil
	}
	resp, err := c.server.ValidateResourceConfig(c.context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: c.typ, Config: c.dynamic(c.schema.ResourceSchemas[c.typ], config),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.Diagnostics
}

// validateData is the same for a data source.
func (p *protocol) validateData(typ string, config map[string]any) diagnostics {
	p.t.Helper()
	resp, err := p.server.ValidateDataResourceConfig(p.context(), &tfprotov6.ValidateDataResourceConfigRequest{
		TypeName: typ, Config: p.dynamic(p.schema.DataSourceSchemas[typ], config),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.Diagnostics
}

// identityOf is an identity as Go has it, nil where there is none.
func (p *protocol) identityOf(identity *tfprotov6.ResourceIdentityData) any {
	p.t.Helper()
	if identity == nil || identity.IdentityData == nil {
		return nil
	}
	schemas, err := p.server.GetResourceIdentitySchemas(p.t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	return p.read(identity.IdentityData, schemas.IdentitySchemas[testList].ValueType())
}

// applied applies a configuration that is valid.
func (c *core) applied(config map[string]any) {
	c.t.Helper()
	if said := c.validate(config); len(said) > 0 {
		c.t.Fatal(said)
	}
	if _, said := c.apply(config); len(said) > 0 {
		c.t.Fatal(said)
	}
}
