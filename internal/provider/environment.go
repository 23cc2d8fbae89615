package provider

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// Environment is what the provider's environment variables configure, for another program.
type Environment struct {
	Platform *platform.Platform
	// GSE, JOB and CMDB are the configurations of their clients. JOB and CMDB have no Endpoint if no setting
	// says where they are. JOBAPI is the generation of JOB's API, a segment of its paths.
	GSE, JOB, CMDB bkapi.Config
	JOBAPI         string
	// Warnings are the provider's warnings.
	Warnings []string
}

// FromEnvironment resolves an empty provider block, as Configure does, and sends nothing.
func FromEnvironment(ctx context.Context, o Options) (*Environment, error) {
	p := &bkProvider{o}
	var schema provider.SchemaResponse
	p.Schema(ctx, provider.SchemaRequest{}, &schema)
	attrTypes, values := make(map[string]attr.Type), make(map[string]attr.Value)
	for name, attribute := range schema.Schema.Attributes {
		t := attribute.GetType()
		value, err := t.ValueFromTerraform(ctx, tftypes.NewValue(t.TerraformType(ctx), nil))
		if err != nil {
			return nil, err
		}
		attrTypes[name], values[name] = t, value
	}
	block, diags := types.ObjectValue(attrTypes, values)
	s, platform, more := p.resolve(ctx, block, "none")
	diags.Append(more...)
	if diags.HasError() {
		return nil, errors.Join(each(diags.Errors(), func(text string) error { return errors.New(text) })...)
	}
	env := &Environment{Platform: platform, GSE: s.API, JOBAPI: s.jobAPI, Warnings: each(diags.Warnings(), func(text string) string { return text })}
	if config, known := s.jobConfig(); known {
		env.JOB = config
	}
	if config, known := s.cmdbConfig(); known {
		env.CMDB = config
	}
	return env, nil
}

// each converts the texts of diagnostics, and leaves the provider block out of them.
func each[T any](diags diag.Diagnostics, of func(string) T) []T {
	list := make([]T, 0, len(diags))
	for _, d := range diags {
		list = append(list, of(strings.ReplaceAll(d.Detail(), "Set it in the provider block, or set the environment variable", "Set the environment variable")))
	}
	return list
}
