package procapi

import "strings"

// Per-host codes. Only 0 is success and only 115 is "still running"; JOB and GSE
// agreed on that rule. The others come from the clients' own tables.
const (
	CodeOK             = 0
	CodeInProgress     = 115
	CodeAgentAbnormal  = 117
	CodeTerminated     = 126
	CodeAlreadyRunning = 828
	CodeNotRunning     = 829
	CodeIllegalOp      = 832
	CodeCheckFailed    = 836
	CodeRegistered     = 850
	CodeStopping       = 1015012
	CodeCommandFailed  = 65535
)

// CodeTaskQueued is the envelope code of a task whose result is not there yet.
const CodeTaskQueued = 1000115

// meaningNotStarted has the causes that people met who saw their process run all the
// same: the agent looks for it by its pid file and by the name of its executable.
const meaningNotStarted = "the process was not running when the start was checked; where it does run, start_cmd did not write its pid to pid_path, " +
	"or proc_name is not the name of its executable (readlink /proc/<pid>/exe)"

// Meaning says a per-host code in words, or "" where nobody knows. message is
// what the platform said with it: 836 means two things.
func Meaning(code int64, message string) string {
	switch code {
	case CodeInProgress:
		return "still in progress"
	case CodeAgentAbnormal:
		return "the agent is abnormal or not found"
	case CodeTerminated:
		return "the task was terminated"
	case CodeAlreadyRunning:
		return "the process is running already"
	case CodeNotRunning:
		return "the process is not running"
	case CodeIllegalOp:
		return "the platform does not know this operation"
	case CodeCheckFailed:
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(message)), "stop") {
			return "the process was still running when the stop was checked"
		}
		return meaningNotStarted
	case CodeRegistered:
		return "the process is registered already"
	case CodeStopping:
		return "the process is being stopped"
	case CodeCommandFailed:
		return "the command failed"
	}
	return ""
}
