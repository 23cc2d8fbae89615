package reference

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// StringMap converts a map of strings, without its null and unknown elements. A null or unknown map becomes nil.
func StringMap(m types.Map) map[string]string {
	if m.IsNull() || m.IsUnknown() {
		return nil
	}
	plain := make(map[string]string, len(m.Elements()))
	for key, element := range m.Elements() {
		if value, ok := element.(types.String); ok && !value.IsNull() && !value.IsUnknown() {
			plain[key] = value.ValueString()
		}
	}
	return plain
}

// StringMapValue converts back. A nil map becomes an empty one, not null.
func StringMapValue(plain map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(plain))
	for key, value := range plain {
		elements[key] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, elements)
}

// given converts an optional text for a request, nil if it is not set. The platform's own samples have empty
// texts for unset values, so an empty text counts as not set.
func given(text types.String) *string {
	if Unset(text) {
		return nil
	}
	return text.ValueStringPointer()
}

// Unset reports whether an optional text is null or empty. An unknown one may be set.
func Unset(value attr.Value) bool {
	text, isText := value.(types.String)
	return value == nil || value.IsNull() || (isText && !text.IsUnknown() && text.ValueString() == "")
}

// Known reports whether no value is unknown or contains an unknown part.
func Known(ctx context.Context, values ...attr.Value) bool {
	for _, value := range values {
		raw, err := value.ToTerraformValue(ctx)
		if err != nil || !raw.IsFullyKnown() {
			return false
		}
	}
	return true
}
