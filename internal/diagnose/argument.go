package diagnose

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// argumentWidth is the maximum width of a line of HostsArgument that has more than one host.
const argumentWidth = 100

// HostsArgument returns the argument hosts with these addresses by host key, to be pasted after -var or into a
// configuration. The CLI prints indented lines unchanged.
func HostsArgument(addresses map[string]string) string {
	var text strings.Builder
	text.WriteString("  hosts={\n")
	line := ""
	for _, key := range slices.SortedFunc(maps.Keys(addresses), fleet.CompareKeys) {
		entry := quoted(key) + " = " + quoted(addresses[key])
		switch {
		case line == "":
			line = "    " + entry
		case len(line)+len(entry) < argumentWidth:
			line += ", " + entry
		default:
			text.WriteString(line + "\n")
			line = "    " + entry
		}
	}
	if line != "" {
		text.WriteString(line + "\n")
	}
	text.WriteString("  }")
	return text.String()
}

// quoted returns text as a string of the configuration language. The escapes are those of JSON, and the first
// character of what would begin a template is doubled.
func quoted(text string) string {
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can always be encoded
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strings.TrimSuffix(encoded.String(), "\n"))
}
