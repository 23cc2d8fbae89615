package inventory

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"golang.org/x/text/unicode/norm"

	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// keyFields are the possible fields of a key, in the order of the documentation.
var keyFields = []struct {
	name string
	of   func(cmdb.Host) string
}{
	{"bk_host_innerip", func(h cmdb.Host) string { return h.IP }},
	{"bk_host_innerip_v6", func(h cmdb.Host) string { return h.IPv6 }},
	{"bk_host_id", func(h cmdb.Host) string { return strconv.FormatInt(h.ID, 10) }},
	{"bk_host_name", func(h cmdb.Host) string { return h.Name }},
	{"bk_agent_id", func(h cmdb.Host) string { return h.AgentID }},
	{"bk_cloud_id", func(h cmdb.Host) string {
		if h.CloudID == nil {
			return ""
		}
		return strconv.FormatInt(*h.CloudID, 10)
	}},
}

func keyFieldList() string {
	names := make([]string, len(keyFields))
	for i, field := range keyFields {
		names[i] = "`" + field.name + "`"
	}
	return "one of " + strings.Join(names, ", ")
}

// keyFormat is a key of texts and fields in alternation. It begins and ends with a text.
type keyFormat struct {
	texts  []string
	fields []int // of keyFields
}

// parseKey reads "{bk_cloud_id}-{bk_host_innerip}".
func parseKey(text string) (keyFormat, error) {
	var format keyFormat
	for {
		fixed, behind, found := strings.Cut(text, "{")
		if strings.Contains(fixed, "}") {
			return keyFormat{}, errors.New("a } without its {")
		}
		format.texts = append(format.texts, fixed)
		if !found {
			break
		}
		name, after, closed := strings.Cut(behind, "}")
		if !closed {
			return keyFormat{}, errors.New("a { without its }")
		}
		at := -1
		for i, field := range keyFields {
			if field.name == name {
				at = i
			}
		}
		if at < 0 {
			return keyFormat{}, fmt.Errorf("{%s} is not a field of a host; it must be %s", name, keyFieldList())
		}
		format.fields = append(format.fields, at)
		text = after
	}
	if len(format.fields) == 0 {
		return keyFormat{}, fmt.Errorf("without a field in braces every host would have the same key; use %s", keyFieldList())
	}
	return format, nil
}

// of returns the key of a host, normalized as Terraform normalizes keys of maps. A field without a value in
// CMDB is an error, since keys would be alike. So is a key that would control the terminal on which it is printed.
func (f keyFormat) of(h cmdb.Host) (string, error) {
	var key strings.Builder
	for i, text := range f.texts {
		key.WriteString(text)
		if i == len(f.fields) {
			break
		}
		field := keyFields[f.fields[i]]
		value := field.of(h)
		if value == "" {
			return "", fmt.Errorf("CMDB has no %s for it, which its key contains", field.name)
		}
		key.WriteString(value)
	}
	if !reference.IsPrintable(key.String()) {
		return "", fmt.Errorf("its key %q has a character that cannot be printed", key.String())
	}
	return norm.NFC.String(key.String()), nil
}

// keyValidator accepts what parseKey accepts.
type keyValidator struct{}

func (keyValidator) Description(context.Context) string {
	return "must be text with fields in braces, " + keyFieldList()
}

func (v keyValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (keyValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, err := parseKey(req.ConfigValue.ValueString()); err != nil {
		reference.AddInvalid(&resp.Diagnostics, req.Path, "Invalid Host Key", err.Error())
	}
}
