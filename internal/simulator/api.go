package simulator

import (
	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/face"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/record"
	"github.com/blueking/terraform-provider-bk/internal/simulator/scenario"
)

// These aliases export types of the packages below.
type (
	// Call is one recorded request.
	Call = record.Call
	// CallList is a record of calls, oldest first.
	CallList = record.CallList
	// Process is a copy of the simulator's data about one process.
	Process = core.Process
	// Execution is an operation that reached a host, and its result there.
	Execution = core.Execution
	// Fault changes how matching requests or hosts are answered.
	Fault = fault.Fault
	// Machine is the real state of one machine, under all its names.
	Machine = core.Machine
	// MachineProcess is one process of a machine.
	MachineProcess = core.MachineProcess
	// Entry is the cached status of a process under one name of its machine.
	Entry = core.Entry
	// Topology is the content of CMDB; see [ParseTopology].
	Topology = cmdb.Topology
	// TopologyHosts are hosts of a topology.
	TopologyHosts = cmdb.Hosts
	// Scenario is a series of faults; see [ParseScenario].
	Scenario = scenario.Scenario
	// ProcFile is an unusual form of the file in which an agent keeps what it hosts.
	ProcFile = core.ProcFile
	// TaskInfo is a copy of the simulator's data about one task.
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

// Codes of a whole response, and of the gateway and JOB themselves; see the package face.
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

// DefaultProcPath is where agents keep what they host, unless the server sets another path.
const DefaultProcPath = core.DefaultProcPath

// OddFiles are the values of Odd in [ProcFile], in alphabetical order.
func OddFiles() []string { return core.OddFiles() }

// Credentials that the zero value of [Server] accepts.
const (
	DefaultAppCode   = face.DefaultAppCode
	DefaultAppSecret = face.DefaultAppSecret
)

// ParseTopology reads a topology from JSON.
func ParseTopology(data []byte) (*Topology, error) { return cmdb.ParseTopology(data) }

// ParseScenario reads a scenario from JSON. Errors name the file.
func ParseScenario(file string, data []byte) (*Scenario, error) { return scenario.Parse(file, data) }

// CheckHost returns an error for an invalid address, for which AddHost panics. Use it for input of users.
func CheckHost(addr string) error { return core.CheckHost(addr) }
