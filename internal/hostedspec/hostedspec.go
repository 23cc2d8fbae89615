// Package hostedspec reads the file in which an agent of the platform keeps what it hosts. It is
// the only place that shows the spec of a hosted process: no API returns one. The package knows the
// file and how a reading of it looks; who asks the agents is gse and job.
//
// Source: api.md, section 4; BSCP and GSEKit read the same file.
package hostedspec

import "strings"

// Entry is what an agent hosts under one key. A number that the file lacks is 0, which the agent
// takes for "no limit" or for its default.
type Entry struct {
	Namespace, Name                    string // of the registration, which is valuekey in the file
	ProcName, SetupPath, PIDPath, User string
	StartCmd, StopCmd, RestartCmd      string
	ReloadCmd, KillCmd                 string
	VersionCmd, HealthCmd              string
	AutoType                           int64
	HasAutoType                        bool    // 0 is a type, not a default
	CPU, Mem                           float64 // percent of the machine
	StartCheckSecs, OpTimeout          int64   // seconds
	LastOperation                      int64   // op_type that wrote the entry last
	WrittenAt                          int64   // epoch seconds, by the agent's clock
	// Why says why the entry could not be understood; "" if it was. Then only its namespace and name
	// are known.
	Why string
}

// Key is namespace and name.
func (e Entry) Key() string { return e.Namespace + ":" + e.Name }

// Reading is what one agent's file holds, or why it could not be read.
type Reading struct {
	// Entries are those of every namespace, in the order of the file. None means that the file is
	// there and hosts nothing, or that the agent's directory is there and has no such file.
	Entries []Entry
	// Why says why the file could not be read or understood; "" if it was. Then nothing is known. It is
	// the same whenever that happens, so an output may hold it.
	Why string
	// Call names the call that said so, as "request id 7f3a" or "task 12"; "" if none did.
	Call string
}

// Reason is Why with the call, for a message.
func (r Reading) Reason() string {
	if r.Why == "" || r.Call == "" {
		return r.Why
	}
	if text, brackets := strings.CutSuffix(r.Why, ")"); brackets {
		return text + ", " + r.Call + ")"
	}
	return r.Why + " (" + r.Call + ")"
}
