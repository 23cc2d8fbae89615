package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func statesOf(values map[string]any) map[string]string {
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

// texts is a map of strings out of a state, nil where there is none.
func texts(v any) map[string]string {
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

func hostsIn(state any) map[string]string {
	values, _ := state.(map[string]any)
	return texts(values["hosts"])
}

// told are the hosts of a diagnostic with the reasons given.
func told(said string) map[string]string {
	rows := make(map[string]string)
	for _, match := range regexp.MustCompile(`(?m)^  (web-\d+) \(\S+\): (.*)$`).FindAllStringSubmatch(said, -1) {
		rows[match[1]] = match[2]
	}
	return rows
}

// wholeSpec is a spec with every command and its limits.
func wholeSpec(start string) map[string]any {
	spec := testSpec(start)
	spec["control"] = map[string]any{
		"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh", "reload_cmd": "./reload.sh", "kill_cmd": "./kill.sh",
	}
	spec["resource"] = map[string]any{"cpu": 30, "mem": 10}
	return spec
}

// startsWith tells whether the platform holds a process with this start_cmd.
func startsWith(process simulator.Process, start string) bool {
	return strings.Contains(string(process.Spec), fmt.Sprintf("%q:%q", "start_cmd", start))
}

// logBuffer is written by the provider's workers.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String is the log as a reader has it, in which JSON's own escapes hide nothing.
func (b *logBuffer) String() string {
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
