package reference

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
)

// PrivateReader is private state that is read.
type PrivateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// PrivateWriter is private state that is written.
type PrivateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// LoadPrivate returns a value of private state, the zero value if there is none or it cannot be read.
func LoadPrivate[T any](ctx context.Context, from PrivateReader, key string) (T, diag.Diagnostics) {
	raw, diags := from.GetKey(ctx, key)
	var value, none T
	if len(raw) > 0 && json.Unmarshal(raw, &value) != nil {
		return none, diags
	}
	return value, diags
}

// SavePrivate writes a value to private state.
func SavePrivate(ctx context.Context, to PrivateWriter, key string, value any) diag.Diagnostics {
	raw, err := json.Marshal(value)
	if err != nil {
		return diag.Diagnostics{diagnose.Bug(err)}
	}
	return to.SetKey(ctx, key, raw)
}

// KeepPrivate is SavePrivate for a value that most objects do not have. If it is empty, it is written only in place of
// one that was kept before.
func KeepPrivate(ctx context.Context, before PrivateReader, to PrivateWriter, key string, value any, empty bool) diag.Diagnostics {
	kept, diags := before.GetKey(ctx, key)
	if empty && len(kept) == 0 {
		return diags
	}
	return append(diags, SavePrivate(ctx, to, key, value)...)
}
