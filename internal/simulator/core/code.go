package core

// Codes per host, as GSE's documents and its clients name them.
const (
	// CodeOK is success.
	CodeOK = 0
	// CodePending means in progress: poll again, or repeat a first generation
	// call.
	CodePending = 115
	// CodeAgentAbnormal means that no healthy agent answers for the host.
	CodeAgentAbnormal = 117
	// CodeAlreadyRunning refuses a start.
	CodeAlreadyRunning = 828
	// CodeNotRunning refuses a stop, a kill, an unhosting or an unregistering.
	CodeNotRunning = 829
	// CodeIllegalOp is for an op type that does not exist.
	CodeIllegalOp = 832
	// CodeCheckFailed means that the check after a command found the process in
	// the wrong state. Its message begins with "stop" if the process still runs.
	CodeCheckFailed = 836
	// CodeAlreadyRegistered refuses a register_proc_info.
	CodeAlreadyRegistered = 850
	// CodeNotRegistered refuses an update_proc_info of an unregistered process. An invention: no document
	// or client shows GSE's answer.
	CodeNotRegistered = 851
	// CodeCommandFailed means that the command itself failed; the message
	// carries its output.
	CodeCommandFailed = 65535
	// CodeFailed is any other failure, such as an IPv6 address in a first generation call. An invention
	// that follows the rule of JOB and GSE: "anything but 0 and 115 is an error".
	CodeFailed = -1
)

// Op types of operate_proc_v2 and operate_proc_multi. 5 and 6 do not exist.
const (
	OpStart   = 0
	OpStop    = 1
	OpQuery   = 2
	OpHost    = 3
	OpUnhost  = 4
	OpRestart = 7
	OpReload  = 8
	OpKill    = 9
)

// The APIs of the first generation and of scripts have no op types. These stand for them.
const (
	NoOp         = -1
	OpRegister   = -2
	OpUpdate     = -3
	OpUnregister = -4
	// OpScript runs a script.
	OpScript = -5
)

// codeMessages are the messages of codes, unless an operation has a more specific one.
var codeMessages = map[int]string{
	CodeOK:                "success",
	CodePending:           "handling",
	CodeAgentAbnormal:     "agent abnormal or not found",
	CodeAlreadyRunning:    "process is already running",
	CodeNotRunning:        "process is not running, no need to stop",
	CodeIllegalOp:         "illegal op type",
	CodeCheckFailed:       "start check failed: process is not running",
	CodeAlreadyRegistered: "process is already registered",
	CodeNotRegistered:     "process is not registered",
	CodeCommandFailed:     "command failed",
}

// CodeMessage returns the message of a code.
func CodeMessage(code int) string {
	if msg, ok := codeMessages[code]; ok {
		return msg
	}
	return "operation failed"
}
