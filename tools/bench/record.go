package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/provider"
)

// record makes the provider read a data source once and keeps its response for the floor.
func (b *bench) record(ctx context.Context, s scenario) error {
	if err := errors.Join(b.startOver(s), b.real.configure(providerBlock(b.platform.server.URL)+s.config(s.hosts))); err != nil {
		return err
	}
	if _, err := b.real.run(ctx, s.steps[0]); err != nil {
		return err
	}
	schema, err := provider.NewServer(provider.DefaultOptions("bench")).GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(b.real.path("terraform.tfstate"))
	if err != nil {
		return err
	}
	answer, err := answerIn(text, schema)
	if err != nil {
		return err
	}
	return os.WriteFile(b.floor.path("answer"), answer, 0o600)
}

// answerIn returns the only data source in a state, encoded as by a provider.
func answerIn(state []byte, schema *tfprotov6.GetProviderSchemaResponse) ([]byte, error) {
	var content struct {
		Resources []struct {
			Type      string
			Instances []struct{ Attributes json.RawMessage }
		}
	}
	if err := json.Unmarshal(state, &content); err != nil {
		return nil, err
	}
	if len(content.Resources) != 1 || len(content.Resources[0].Instances) != 1 {
		return nil, fmt.Errorf("the state has %d data sources, want one", len(content.Resources))
	}
	typ := schema.DataSourceSchemas[content.Resources[0].Type].ValueType()
	value, err := (&tfprotov6.RawState{JSON: content.Resources[0].Instances[0].Attributes}).Unmarshal(typ)
	if err != nil {
		return nil, err
	}
	answer, err := tfprotov6.NewDynamicValue(typ, value)
	return answer.MsgPack, err
}
