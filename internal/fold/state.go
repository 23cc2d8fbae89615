package fold

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// A state is JSON, whose strings cannot contain MessagePack. So in a state the string has this encoding,
// which is ASCII. MessagePack of a map begins with a byte that is not ASCII.
var inState = base64.StdEncoding

// UpgradeResourceState folds a state by the schema of its version. So the provider's upgraders read and
// write a [Map] like any method.
func (s *Server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	d, in := s.resource(ctx, req.TypeName), *req
	found, _ := s.folded(ctx).resources.of(req.TypeName) // d has its error
	if found.isCurrent(req.Version, req.RawState) {
		return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &tfprotov6.DynamicValue{JSON: req.RawState.JSON}}, nil
	}
	state, err := foldState(req.RawState, found.states[req.Version], inOnePiece)
	if err != nil {
		return nil, fmt.Errorf("reading a state: %w", err)
	}
	in.RawState = state
	return call(ctx, d, s.Framework.UpgradeResourceState, &in, func(resp *tfprotov6.UpgradeResourceStateResponse) {
		resp.UpgradedState = d.unfold(resp.UpgradedState)
	})
}

// isCurrent reports whether a state is one of the schema now, without anything else in it. Such a state is
// returned as it is. The framework would write it anew.
func (r foldedResource) isCurrent(version int64, state *tfprotov6.RawState) bool {
	if version != r.version || r.typ == nil || state == nil || len(state.JSON) == 0 {
		return false
	}
	rest, err := foldState(state, r.current, func(map[string]*string) json.RawMessage { return json.RawMessage("null") })
	if err != nil {
		return false
	}
	_, err = rest.Unmarshal(r.typ)
	return err == nil
}

// inOnePiece is a folded map in a state.
func inOnePiece(elements map[string]*string) json.RawMessage {
	return json.RawMessage(`"` + inState.EncodeToString([]byte(encode(elements))) + `"`)
}

// foldState replaces folded attributes of a state by what write makes of them.
func foldState(state *tfprotov6.RawState, folded attributes, write func(map[string]*string) json.RawMessage) (*tfprotov6.RawState, error) {
	if state == nil || len(state.JSON) == 0 || len(folded) == 0 {
		return state, nil
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(state.JSON, &values); err != nil {
		return nil, err
	}
	for name := range folded {
		content, found := values[name]
		if !found {
			continue
		}
		var elements map[string]*string
		if err := json.Unmarshal(content, &elements); err != nil {
			return nil, fmt.Errorf("reading the attribute %q: %w", name, err)
		}
		if elements != nil {
			values[name] = write(elements)
		}
	}
	rewritten, err := json.Marshal(values)
	return &tfprotov6.RawState{JSON: rewritten}, err
}

// fromState returns a folded map as MessagePack, whether it was in a state or not.
func fromState(folded string) (string, error) {
	if folded == "" || folded[0] >= utf8.RuneSelf {
		return folded, nil
	}
	decoded, err := inState.DecodeString(folded)
	return string(decoded), err
}
