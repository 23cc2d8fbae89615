package diagnose

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// argumentWidth is how wide a line of HostsArgument gets, if more than one host is on it.
const argumentWidth = 100

// HostsArgument is the argument hosts with these addresses by host key, to be pasted behind -var or into
// a configuration. The CLI leaves indented lines as they are.
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

// quoted is a string of the configuration language. Its escapes are those of JSON, and
// what would begin a template is escaped by doubling its sign.
func quoted(text string) string {
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can always be encoded
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strings.TrimSuffix(encoded.String(), "\n"))
}
