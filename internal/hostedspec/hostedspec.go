// Package hostedspec reads the file in which an agent keeps what it hosts. Nothing else shows the spec of a
// hosted process, because no API returns one. The package knows the file and what reading it can result in.
// Packages gse and job ask the agents.
//
// Source: api.md, section 4. BSCP and GSEKit read the same file.
package hostedspec

import "strings"

// Entry is what an agent hosts under one key. A number that the file lacks is 0, which the agent takes as "no
// limit" or as its default.
type Entry struct {
	Namespace, Name                    string // of the registration: valuekey in the file
	ProcName, SetupPath, PIDPath, User string
	StartCmd, StopCmd, RestartCmd      string
	ReloadCmd, KillCmd                 string
	VersionCmd, HealthCmd              string
	AutoType                           int64
	HasAutoType                        bool    // because type 0 is not a default
	CPU, Mem                           float64 // percent of the machine
	StartCheckSecs, OpTimeout          int64   // seconds
	LastOperation                      int64   // op_type of the last write
	WrittenAt                          int64   // epoch seconds, by the agent's clock
	// Why is the reason why the entry could not be parsed, "" if it could. If set, only Namespace and Name
	// are known.
	Why string
}

// Key returns namespace:name.
func (e Entry) Key() string { return e.Namespace + ":" + e.Name }

// Reading is the content of an agent's file, or the reason why it could not be read.
type Reading struct {
	// Entries are the entries of all namespaces, in the order of the file. There are none if the file hosts
	// nothing, or if the agent's directory exists and has no such file.
	Entries []Entry
	// Why is the reason why the file could not be read or parsed, "" if it could. If set, nothing is known.
	// The same cause always has the same text, so that outputs may contain it.
	Why string
	// Call names the call that returned Why, as "request id 7f3a" or "task 12", "" if none did.
	Call string
}

// Reason returns Why with the call, for a message.
func (r Reading) Reason() string {
	if r.Why == "" || r.Call == "" {
		return r.Why
	}
	if text, brackets := strings.CutSuffix(r.Why, ")"); brackets {
		return text + ", " + r.Call + ")"
	}
	return r.Why + " (" + r.Call + ")"
}
