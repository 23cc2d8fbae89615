package simulator

import (
	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/face"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/record"
	"github.com/blueking/terraform-provider-bk/internal/simulator/scenario"
)

// What users of the simulator see of the packages below it.
type (
	// Call is one recorded request.
	Call = record.Call
	// CallList is a record of calls, oldest first.
	CallList = record.CallList
	// Process is a copy of what the simulator holds about one process.
	Process = core.Process
	// Execution is what one host did with one operation that reached it.
	Execution = core.Execution
	// Fault changes how matching requests or hosts are answered.
	Fault = fault.Fault
	// Machine is what is true on one machine, whatever it was called.
	Machine = core.Machine
	// MachineProcess is one process there.
	MachineProcess = core.MachineProcess
	// Entry is the cached status about a process under one name of its machine.
	Entry = core.Entry
	// Topology is what CMDB knows; see [ParseTopology].
	Topology = cmdb.Topology
	// TopologyHosts are hosts of a topology.
	TopologyHosts = cmdb.Hosts
	// Scenario is what goes wrong by itself; see [ParseScenario].
	Scenario = scenario.Scenario
	// ProcFile is what is odd about the file in which an agent keeps what it hosts.
	ProcFile = core.ProcFile
	// TaskInfo is a copy of what the simulator holds about one task.
	TaskInfo = core.TaskInfo
)

// Codes per host; see the package core.
const (
	CodeOK                = core.CodeOK
	CodePending           = core.CodePending
	CodeAgentAbnormal     = core.CodeAgentAbnormal
	CodeAlreadyRunning    = core.CodeAlreadyRunning
	CodeNotRunning        = core.CodeNotRunning
	CodeIllegalOp         = core.CodeIllegalOp
	CodeCheckFailed       = core.CodeCheckFailed
	CodeAlreadyRegistered = core.CodeAlreadyRegistered
	CodeNotRegistered     = core.CodeNotRegistered
	CodeCommandFailed     = core.CodeCommandFailed
	CodeFailed            = core.CodeFailed
)

// Op types of operate_proc_v2 and operate_proc_multi. 5 and 6 do not exist.
const (
	OpStart   = core.OpStart
	OpStop    = core.OpStop
	OpQuery   = core.OpQuery
	OpHost    = core.OpHost
	OpUnhost  = core.OpUnhost
	OpRestart = core.OpRestart
	OpReload  = core.OpReload
	OpKill    = core.OpKill
)

// Codes of a whole answer, and of the gateway and JOB themselves; see the package face.
const (
	CodeTaskQueued          = face.CodeTaskQueued
	CodeSystemError         = face.CodeSystemError
	CodeAPINotFound         = face.CodeAPINotFound
	CodeArgumentError       = face.CodeArgumentError
	CodeInvalidArgs         = face.CodeInvalidArgs
	CodeAppUnverified       = face.CodeAppUnverified
	CodeUserUnverified      = face.CodeUserUnverified
	CodeCrossTenant         = face.CodeCrossTenant
	CodeGatewayAPINotFound  = face.CodeGatewayAPINotFound
	CodeJobIllegalParameter = face.CodeJobIllegalParameter
	CodeJobNoInstance       = face.CodeJobNoInstance
)

// Secrets of each entry of an agent's file; see the package core.
const (
	SecretPassword = core.SecretPassword
	SecretUserPwd  = core.SecretUserPwd
)

// DefaultProcPath is where agents keep what they host, unless the server says otherwise.
const DefaultProcPath = core.DefaultProcPath

// OddFiles are what [ProcFile] may have as Odd, in the order of the alphabet.
func OddFiles() []string { return core.OddFiles() }

// Credentials that the zero value of [Server] accepts.
const (
	DefaultAppCode   = face.DefaultAppCode
	DefaultAppSecret = face.DefaultAppSecret
)

// ParseTopology reads a topology from JSON.
func ParseTopology(data []byte) (*Topology, error) { return cmdb.ParseTopology(data) }

// ParseScenario reads a scenario from JSON. The file is named where it is wrong.
func ParseScenario(file string, data []byte) (*Scenario, error) { return scenario.Parse(file, data) }

// CheckHost says what is wrong with a host's address, for those who got it from
// a user and do not want AddHost to panic.
func CheckHost(addr string) error { return core.CheckHost(addr) }
