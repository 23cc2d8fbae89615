package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// StatesOf returns the states by host key from the values of a status data source.
func StatesOf(values map[string]any) map[string]string {
	if values == nil {
		return nil
	}
	states := make(map[string]string)
	hosts, _ := values["statuses"].(map[string]any)
	for key, host := range hosts {
		status, _ := host.(map[string]any)
		states[key], _ = status["state"].(string)
	}
	return states
}

// Texts converts a map of strings as Plain returns it, nil if there is none.
func Texts(v any) map[string]string {
	values, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	byKey := make(map[string]string, len(values))
	for key, value := range values {
		byKey[key], _ = value.(string)
	}
	return byKey
}

// HostsIn returns the hosts map of a state as Plain returns it.
func HostsIn(state any) map[string]string {
	values, _ := state.(map[string]any)
	return Texts(values["hosts"])
}

// ReasonRows returns the reasons by host key that a diagnostic lists. It panics if a row names only some
// of its hosts.
func ReasonRows(said string) map[string]string {
	rows := make(map[string]string)
	for _, match := range regexp.MustCompile(`(?m)^  (web-\d.*?) \((?:\S+|\d+ hosts)\): (.*)$`).FindAllStringSubmatch(said, -1) {
		for span := range strings.SplitSeq(match[1], ", ") {
			var first, last int
			if n, _ := fmt.Sscanf(span, "web-%d…web-%d", &first, &last); n == 1 {
				last = first
			} else if n == 0 {
				panic("not a host or a range of them: " + span)
			}
			for n := first; n <= last; n++ {
				rows[fmt.Sprintf("web-%d", n)] = match[2]
			}
		}
	}
	return rows
}

// WholeSpec returns Spec with every operation's command and resource limits.
func WholeSpec(start string) map[string]any {
	spec := Spec(start)
	spec["control"] = map[string]any{
		"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh", "reload_cmd": "./reload.sh", "kill_cmd": "./kill.sh",
	}
	spec["resource"] = map[string]any{"cpu": 30, "mem": 10}
	return spec
}

// StartsWith reports whether a process is registered with this start_cmd.
func StartsWith(process simulator.Process, start string) bool {
	return strings.Contains(string(process.Spec), fmt.Sprintf("%q:%q", "start_cmd", start))
}

// LogBuffer keeps a log that is written concurrently.
type LogBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *LogBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the log with its JSON decoded, so that no escapes remain.
func (b *LogBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var text strings.Builder
	for line := range strings.Lines(b.buf.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) != nil {
			fmt.Fprintln(&text, line)
			continue
		}
		fmt.Fprintln(&text, fields)
	}
	return text.String()
}

// AttributeText returns a path as it is written in a configuration.
func AttributeText(path *tftypes.AttributePath) string {
	var text strings.Builder
	for _, step := range path.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			if text.Len() > 0 {
				text.WriteString(".")
			}
			text.WriteString(string(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&text, "[%q]", string(step))
		case tftypes.ElementKeyInt:
			fmt.Fprintf(&text, "[%d]", int64(step))
		}
	}
	return text.String()
}
