package procapi

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// instance is an element of process[].instance[] in the content of a query.
type instance struct {
	PID          Number `json:"pid"` // -1 when the process is not running
	Version      Text   `json:"version"`
	Health       Text   `json:"health"`
	IsAuto       Flag   `json:"isAuto"` // encoding/json matches isauto as well
	IsAutoSnake  Flag   `json:"is_auto"`
	CPUUsage     Number `json:"cpuUsage"`
	PhyMemUsage  Number `json:"phyMemUsage"`
	RegisterTime Number `json:"register_time"`
}

// parseStatus reads the content of a finished query. The platform sends it as a
// JSON document inside a string; some of its faces as an object. What is quoted of it
// goes through redact.
func parseStatus(content json.RawMessage, redact func(string) string) fleet.Status {
	var document string
	if json.Unmarshal(content, &document) == nil {
		content = json.RawMessage(document)
	}
	instances, err := instancesIn(content)
	if err != nil {
		return unreadable("is not JSON", redact(string(content)))
	}
	var found *instance
	hosted := false
	for i := range instances {
		hosted = hosted || instances[i].IsAuto.Value || instances[i].IsAutoSnake.Value
		if candidate := &instances[i]; candidate.PID.Known && (found == nil || candidate.PID.Value > found.PID.Value) {
			found = candidate
		}
	}
	// A query answers with an instance even for a process that is neither hosted
	// nor started, so none at all is no answer.
	if found == nil {
		return unreadable("names no instance with a pid", redact(string(content)))
	}
	if !found.IsAuto.Known {
		found.IsAuto = found.IsAutoSnake
	}
	status := fleet.Status{
		State:        fleet.Stopped,
		Hosted:       hosted,
		HostedKnown:  found.IsAuto.Known || hosted,
		PID:          found.PID.Int(),
		Version:      redact(CleanVersion(string(found.Version))),
		Health:       redact(strings.TrimSpace(string(found.Health))),
		CPUUsage:     found.CPUUsage.Value,
		MemUsage:     found.PhyMemUsage.Value,
		RegisterTime: found.RegisterTime.Int(),
	}
	if status.PID > 0 {
		status.State = fleet.Running
	}
	return status
}

// instancesIn are all instances of a content.
func instancesIn(content json.RawMessage) ([]instance, error) {
	// As a rule there are lists where there should be; looking for more takes three times
	// as long.
	var listed struct {
		Process []struct {
			Instance []instance `json:"instance"`
		} `json:"process"`
	}
	var instances []instance
	if json.Unmarshal(content, &listed) == nil {
		for _, process := range listed.Process {
			instances = append(instances, process.Instance...)
		}
		return instances, nil
	}
	var wire struct {
		Process Many[struct {
			Instance Many[instance] `json:"instance"`
		}] `json:"process"`
	}
	err := json.Unmarshal(content, &wire)
	for _, process := range wire.Process {
		instances = append(instances, process.Instance...)
	}
	return instances, err
}

// unreadable quotes a content, whole and redacted: a quotation may end in the middle of
// a secret, which would not be known for one then.
func unreadable(why, content string) fleet.Status {
	message := "the agent's answer " + why
	if content = excerpt(content); content != "" {
		message += ": " + content
	}
	return fleet.Status{State: fleet.Unknown, Message: message}
}

// CleanVersion keeps the first line of what a version command printed.
func CleanVersion(output string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	return strings.TrimSpace(line)
}

const excerptBytes = 200

// onOneLine is valid UTF-8 whatever came.
func onOneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// excerpt is the beginning of a text on one line.
func excerpt(s string) string {
	s = onOneLine(s)
	if len(s) <= excerptBytes {
		return s
	}
	cut := excerptBytes
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
