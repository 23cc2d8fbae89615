package fold

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// GetProviderSchema tells Terraform of a map.
func (s *Server) GetProviderSchema(ctx context.Context, req *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	resp, err := s.Framework.GetProviderSchema(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, schemas := range []map[string]*tfprotov6.Schema{resp.ResourceSchemas, resp.DataSourceSchemas} {
		for _, schema := range schemas {
			s.unfoldSchema(schema)
		}
	}
	for _, action := range resp.ActionSchemas {
		s.unfoldSchema(action.Schema)
	}
	return resp, nil
}

func (s *Server) unfoldSchema(schema *tfprotov6.Schema) {
	for _, attribute := range schema.Block.Attributes {
		if attribute.Name == s.name {
			attribute.Type = tftypes.Map{ElementType: tftypes.String}
		}
	}
}

// UpgradeResourceState takes the map out of a state, which is JSON there, and puts
// it into what the framework makes of the rest.
func (s *Server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	d, in := s.values(), *req
	rest, content, err := cutOut(req.RawState, s.name)
	if err != nil {
		return nil, fmt.Errorf("reading the attribute %q of a state: %w", s.name, err)
	}
	in.RawState = rest
	return call(ctx, d, s.Framework.UpgradeResourceState, &in, func(resp *tfprotov6.UpgradeResourceStateResponse) {
		resp.UpgradedState = d.rewrite(resp.UpgradedState, func(_ msgpack.RawMessage, to *msgpack.Encoder) error {
			return to.Encode(content)
		})
	})
}

// cutOut gives a state in which the attribute is null, and what it was, as
// MessagePack.
func cutOut(state *tfprotov6.RawState, name string) (*tfprotov6.RawState, msgpack.RawMessage, error) {
	null := msgpack.RawMessage{msgpcode.Nil}
	if state == nil || len(state.JSON) == 0 {
		return state, null, nil
	}
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal(state.JSON, &attributes); err != nil {
		return nil, nil, err
	}
	var elements map[string]*string
	if content, found := attributes[name]; found {
		if err := json.Unmarshal(content, &elements); err != nil {
			return nil, nil, err
		}
		attributes[name] = json.RawMessage("null")
	}
	rest, err := json.Marshal(attributes)
	if err != nil || elements == nil {
		return &tfprotov6.RawState{JSON: rest}, null, err
	}
	return &tfprotov6.RawState{JSON: rest}, msgpack.RawMessage(encode(elements)), nil
}
