package fold

import (
	"context"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	json "github.com/go-json-experiment/json/v1"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// inState encodes folded maps in a state, which is JSON and whose strings cannot contain MessagePack. The two
// can be told apart: this encoding is ASCII, and MessagePack of a map begins with a byte that is not.
var inState = base64.StdEncoding

// UpgradeResourceState folds a state by the schema of its version, so the provider's upgraders read and write
// a [Map] like any method.
func (s *Server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	d, in := s.resource(ctx, req.TypeName), *req
	found, _ := s.folded(ctx).resources.of(req.TypeName) // d has the error
	if found.isCurrent(req.Version, req.RawState) {
		return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &tfprotov6.DynamicValue{JSON: req.RawState.JSON}}, nil
	}
	state, err := foldState(req.RawState, found.states[req.Version])
	if err != nil {
		return nil, fmt.Errorf("reading a state: %w", err)
	}
	in.RawState = state
	return call(ctx, d, s.Framework.UpgradeResourceState, &in, func(resp *tfprotov6.UpgradeResourceStateResponse) {
		resp.UpgradedState = d.unfold(resp.UpgradedState)
	})
}

// isCurrent reports whether a state fits the current schema and has nothing else in it. Such a state is
// returned as it is, where the framework would decode and encode it.
func (r foldedResource) isCurrent(version int64, state *tfprotov6.RawState) bool {
	if version != r.version || r.types == nil || state == nil || len(state.JSON) == 0 {
		return false
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(state.JSON, &values) != nil {
		return false
	}
	for name, content := range values {
		// Folded maps and texts may be long. They are checked here, because the SDK reads each value several times.
		switch _, folded := r.current[name]; {
		case folded:
			var elements map[string]*string
			if json.Unmarshal(content, &elements) != nil {
				return false
			}
		case !isText(content) || !tftypes.String.Is(r.types[name]):
			continue
		}
		values[name] = json.RawMessage("null")
	}
	short, err := json.Marshal(values)
	if err == nil {
		_, err = (&tfprotov6.RawState{JSON: short}).Unmarshal(tftypes.Object{AttributeTypes: r.types})
	}
	return err == nil
}

// isText reports whether a JSON value is a string.
func isText(value json.RawMessage) bool { return len(value) > 0 && value[0] == '"' }

// inOnePiece returns a folded map for a state.
func inOnePiece(elements map[string]*string) json.RawMessage {
	return json.RawMessage(`"` + inState.EncodeToString([]byte(encode(elements))) + `"`)
}

// foldState folds the attributes of a state.
func foldState(state *tfprotov6.RawState, folded attributes) (*tfprotov6.RawState, error) {
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
			values[name] = inOnePiece(elements)
		}
	}
	rewritten, err := json.Marshal(values)
	return &tfprotov6.RawState{JSON: rewritten}, err
}

// fromState returns a folded map as MessagePack, whether it comes from a state or not.
func fromState(folded string) (string, error) {
	if folded == "" || folded[0] >= utf8.RuneSelf {
		return folded, nil
	}
	decoded, err := inState.DecodeString(folded)
	return string(decoded), err
}
