package gse

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// instance is an element of process[].instance[] in the content of a query.
type instance struct {
	PID          number `json:"pid"` // -1 when the process is not running
	Version      text   `json:"version"`
	IsAuto       flag   `json:"isAuto"` // encoding/json matches isauto as well
	IsAutoSnake  flag   `json:"is_auto"`
	CPUUsage     number `json:"cpuUsage"`
	PhyMemUsage  number `json:"phyMemUsage"`
	RegisterTime number `json:"register_time"`
}

// parseStatus reads the content of a finished query. The platform sends it as a
// JSON document inside a string; some of its faces as an object.
func parseStatus(content json.RawMessage) fleet.Status {
	var document string
	if json.Unmarshal(content, &document) == nil {
		content = json.RawMessage(document)
	}
	var wire struct {
		Process many[struct {
			Instance many[instance] `json:"instance"`
		}] `json:"process"`
	}
	if err := json.Unmarshal(content, &wire); err != nil {
		return unreadable("is not JSON", content)
	}
	var found *instance
	for _, process := range wire.Process {
		for i := range process.Instance {
			if candidate := &process.Instance[i]; candidate.PID.known && (found == nil || candidate.PID.value > found.PID.value) {
				found = candidate
			}
		}
	}
	// A query answers with an instance even for a process that is neither hosted
	// nor started, so none at all is no answer.
	if found == nil {
		return unreadable("names no instance with a pid", content)
	}
	if !found.IsAuto.known {
		found.IsAuto = found.IsAutoSnake
	}
	status := fleet.Status{
		State:        fleet.Stopped,
		Hosted:       found.IsAuto.value,
		HostedKnown:  found.IsAuto.known,
		PID:          found.PID.int(),
		Version:      cleanVersion(string(found.Version)),
		CPUUsage:     found.CPUUsage.value,
		MemUsage:     found.PhyMemUsage.value,
		RegisterTime: found.RegisterTime.int(),
	}
	if status.PID > 0 {
		status.State = fleet.Running
	}
	return status
}

func unreadable(why string, content json.RawMessage) fleet.Status {
	message := "the agent's answer " + why
	if len(bytes.TrimSpace(content)) > 0 {
		message += ": " + excerpt(string(content))
	}
	return fleet.Status{State: fleet.Unknown, Message: message}
}

// cleanVersion keeps the first line of what a version command printed.
func cleanVersion(output string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	return strings.TrimSpace(line)
}

const excerptBytes = 200

// excerpt is the beginning of a text on one line, valid UTF-8 whatever came.
func excerpt(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) <= excerptBytes {
		return s
	}
	cut := excerptBytes
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
