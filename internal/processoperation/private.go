package processoperation

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
)

// Keys of private state.
const (
	runsKey = "runs" // the number of runs
	// doubtKey holds what failed_hosts cannot express about operations that may have worked.
	doubtKey = "doubt"
)

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// loadPrivate returns a value of private state, the zero value if there is none or it cannot be read.
func loadPrivate[T any](ctx context.Context, from privateReader, key string) (T, diag.Diagnostics) {
	raw, diags := from.GetKey(ctx, key)
	var value, none T
	if len(raw) > 0 && json.Unmarshal(raw, &value) != nil {
		return none, diags
	}
	return value, diags
}

func savePrivate(ctx context.Context, to privateWriter, key string, value any) diag.Diagnostics {
	raw, err := json.Marshal(value)
	if err != nil {
		return diag.Diagnostics{diagnose.Bug(err)}
	}
	return to.SetKey(ctx, key, raw)
}

// runsSoFar returns the number of runs from private state.
func runsSoFar(ctx context.Context, from privateReader) (int, diag.Diagnostics) {
	return loadPrivate[int](ctx, from, runsKey)
}

func saveRuns(ctx context.Context, to privateWriter, runs int) diag.Diagnostics {
	return savePrivate(ctx, to, runsKey, runs)
}
