package procapi

import (
	"slices"
	"strings"
	"unicode/utf8"

	json "github.com/go-json-experiment/json/v1"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// instance is an element of process[].instance[] in the content of a query result.
type instance struct {
	PID          Number `json:"pid"` // -1 if the process is not running
	Version      Text   `json:"version"`
	Health       Text   `json:"health"`
	IsAuto       Flag   `json:"isAuto"` // encoding/json also matches isauto
	IsAutoSnake  Flag   `json:"is_auto"`
	CPUUsage     Number `json:"cpuUsage"`
	PhyMemUsage  Number `json:"phyMemUsage"`
	RegisterTime Time   `json:"register_time"`
	StartTime    Time   `json:"last_start_time"`
}

// process is an element of process[] in the content of a query result.
type process struct {
	Name      Text       `json:"procname"` // meta.name or identity.proc_name, depending on the release
	Instances []instance `json:"instance"`
}

// parseStatus reads the content of a finished query about the process with this name. It passes what commands
// printed through redact.
func parseStatus(content, name string, redact func(string) string) fleet.Status {
	processes, err := processesIn(content)
	if err != nil {
		return unreadable("is not JSON")
	}
	instances, answered := instancesOf(name, processes)
	if !answered {
		return unreadable("is about other processes")
	}
	var found *instance
	hosted := false
	for i := range instances {
		hosted = hosted || instances[i].IsAuto.Value || instances[i].IsAutoSnake.Value
		if candidate := &instances[i]; candidate.PID.Known && (found == nil || candidate.PID.Value > found.PID.Value) {
			found = candidate
		}
	}
	// A query returns an instance even for a process that is neither hosted nor started. So a missing instance
	// means that the answer is unusable, not that the process is stopped.
	if found == nil {
		return unreadable("names no instance with a pid")
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
		RegisterTime: int64(found.RegisterTime),
		StartTime:    int64(found.StartTime),
	}
	if status.PID > 0 {
		status.State = fleet.Running
	}
	return status
}

func processesIn(content string) ([]process, error) {
	// Usually both lists are JSON arrays. Allowing for other forms takes six times as long.
	var listed struct {
		Process []process `json:"process"`
	}
	if bkapi.Decode([]byte(content), &listed) == nil {
		return listed.Process, nil
	}
	var processes []process
	var wire struct {
		Process Many[struct {
			Name     Text           `json:"procname"`
			Instance Many[instance] `json:"instance"`
		}] `json:"process"`
	}
	err := json.Unmarshal([]byte(content), &wire)
	for _, p := range wire.Process {
		processes = append(processes, process{p.Name, p.Instance})
	}
	return processes, err
}

// instancesOf returns the instances of the process with this name. If the content has only one name, that
// process is taken to be the requested one, because the name depends on the release.
func instancesOf(name string, processes []process) (instances []instance, answered bool) {
	several := slices.ContainsFunc(processes, func(p process) bool { return p.Name != processes[0].Name })
	for _, p := range processes {
		if !several || string(p.Name) == name {
			instances, answered = append(instances, p.Instances...), true
		}
	}
	return instances, answered || !several
}

// unreadable returns the status for a content that cannot be used, and says why. It does not quote the content,
// which differs each time and may contain the start command. An output may show the message.
func unreadable(why string) fleet.Status {
	return fleet.Status{State: fleet.Unknown, Message: "the agent's answer " + why}
}

// CleanVersion returns the first line of what a version command printed.
func CleanVersion(output string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	return strings.TrimSpace(line)
}

const excerptBytes = 200

// onOneLine returns s on one line, as valid UTF-8 for any input.
func onOneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

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
