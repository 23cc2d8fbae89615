package fleet

import (
	"context"
	"errors"
	"time"
)

// ErrNoSpec is returned when the agents cannot be asked because the spec is not known.
var ErrNoSpec = errors.New("agents are asked by a spec, which is not known before the first apply after an import")

// Operation is something that the platform can do to a process.
type Operation string

// The operations of the platform.
const (
	Start   Operation = "start"
	Stop    Operation = "stop"
	Restart Operation = "restart"
	Reload  Operation = "reload"
	Kill    Operation = "kill"
	// Supervise makes the agent restart the process when it dies, which the platform calls hosting. It does
	// not start the process.
	Supervise Operation = "host"
	// Unsupervise ends the hosting. It does not stop the process.
	Unsupervise Operation = "unhost"
)

// Operations returns the operations that a user can ask for, in the order of the documents.
func Operations() []Operation { return []Operation{Start, Stop, Restart, Reload, Kill} }

// LeavesRunning reports whether the process is meant to run after the operation.
func (op Operation) LeavesRunning() bool { return op == Start || op == Restart || op == Reload }

// Starts reports whether the operation ends with a check that the process runs, which takes another
// start_check_secs.
func (op Operation) Starts() bool { return op == Start || op == Restart }

// Stops reports whether the operation waits until the process has stopped, which takes up to another
// stop_check_secs.
func (op Operation) Stops() bool { return op == Stop || op == Kill || op == Restart }

// State is what a process is doing on one host.
type State string

// The states of a process on one host.
const (
	Running      State = "running"
	Stopped      State = "stopped"
	Unregistered State = "unregistered"
	// Unknown means that the platform could not say: the agent is unreachable, or its answer unreadable.
	Unknown State = "unknown"
)

// Status is what the platform reports about a process on one host.
type Status struct {
	State State
	// Hosted reports whether the agent restarts the process. HostedKnown is false if the answer does not say.
	Hosted      bool
	HostedKnown bool
	// Labels are the labels of the registration, nil if the answer has none.
	Labels  map[string]string
	PID     int64
	Version string
	// Health is what the health command printed, "" if it printed nothing, failed or does not exist.
	Health string
	// CPUUsage and MemUsage are percentages of the whole machine.
	CPUUsage, MemUsage float64
	// RegisterTime is when the process was registered, in epoch seconds, 0 if unknown. A cached status with
	// an older time than the live status is outdated. The same time means the same registration, or one that
	// did not renew it.
	RegisterTime int64
	// StartTime is when the agent last started the process, in epoch seconds by the agent's clock, 0 if
	// unknown.
	StartTime int64
	// Code and Message explain why State is Unknown.
	Code    int64
	Message string
	// Unread is set if there was an answer, but without a state.
	Unread bool
	// Refused is set if the query returned an error other than that the agent does not answer.
	Refused bool
	// Away is set if the platform says that the agent does not answer, or if the agent had not answered by
	// the deadline. Late is set only in the second case: the agent may just be slow.
	Away, Late bool
	// Kept is what the agent's own file shows, nil if the file was not to be read.
	Kept *Hosting
}

// Silent reports whether the platform says that the agent does not answer. A failed request, a queued task
// and a missing result say nothing about the agent.
func (s Status) Silent() bool { return s.State == Unknown && s.Away && !s.Late }

// Asked reports whether the agent was asked, even if it did not answer.
func (s Status) Asked() bool { return s.State != Unknown || s.Unread || s.Refused || s.Away }

// answered reports whether the agent was asked and said what runs.
func (s Status) answered() bool { return s.State != Unknown && s.State != "" }

// olderThan reports whether the cached status predates the registration that the agent reports, by its time.
// The labels in it then belong to another registration.
func (s Status) olderThan(registered int64) bool {
	return s.RegisterTime > 0 && s.RegisterTime < registered
}

// ShowsLabels reports whether the cached status shows labels of a registration, and so whether one names an owner.
func (s Status) ShowsLabels() bool {
	return s.State != Unregistered && s.State != Unknown && s.Labels != nil
}

// registeredSince reports whether both times of an agent are known and differ.
func registeredSince(before, now int64) bool { return before != 0 && now != 0 && now != before }

// Process is one process, with a name and a spec, on a platform. Each method returns an outcome or a status
// for every host that it is given. It waits until the platform has settled or ctx ends, and splits what is
// too large for one request.
type Process interface {
	// Register registers the process. On a host where it is registered already it returns Failed and
	// AlreadyDone. If that cannot be found out, it replaces nothing.
	Register(ctx context.Context, hosts []Host) Results
	// Reregister registers the process again and replaces its registration.
	Reregister(ctx context.Context, hosts []Host) Results
	// Unregister returns Done for a host without a registration.
	Unregister(ctx context.Context, hosts []Host) Results
	// Operate runs an operation. It never sends it twice.
	Operate(ctx context.Context, op Operation, hosts []Host, observe Observer) Results
	// Resume asks for the results of operations that were sent before, each by its task. It sends no
	// operation. It asks once, or with wait until the end as Operate does. A host without a result is
	// Pending. It is Lost if the platform says nothing about the host however often the task is asked for.
	Resume(ctx context.Context, tasks map[Host]Task, wait bool, observe Observer) Results
	// CachedStatus returns the platform's cached status, which may lag by minutes.
	CachedStatus(ctx context.Context, hosts []Host) (map[Host]Status, error)
	// SharedStatus is CachedStatus for a refresh. It may reuse the answer that another process got moments
	// ago, if nothing has changed since.
	SharedStatus(ctx context.Context, hosts []Host) (map[Host]Status, error)
	// LiveStatus asks the agents. It needs a spec, and returns [ErrNoSpec] without one. An agent cannot tell
	// a process that is not registered from one that is registered but neither hosted nor running.
	LiveStatus(ctx context.Context, hosts []Host) (map[Host]Status, error)
	// OneShot reports whether the process ends by itself when its work is done.
	OneShot() bool
	// Settles returns how long the command of an operation may take on a host, and how long the checks take
	// that follow a start or a stop.
	Settles() (command, startCheck, stopCheck time.Duration)
	// HostingRegisters reports whether registering is the same as hosting, so that a process that is not
	// hosted is not registered.
	HostingRegisters() bool
	// OtherNames returns the other names of hosts that the platform knows: the agent id for an address, the
	// address for an agent id. It returns an error if the platform could not be asked.
	OtherNames(ctx context.Context, hosts []Host) (map[Host]HostID, error)
	// KnownNames returns the names that the platform has given so far. It makes no call.
	KnownNames(hosts []Host) map[Host]HostID
}

// Hosting is what an agent's own file shows about a process: what the agent really hosts.
type Hosting struct {
	// Why is the reason why the file could not be read, "" if it was. The other fields are empty then.
	Why string
	// Hosted reports whether the file has an entry for the process.
	Hosted bool
	// Differs are the fields of the spec whose values in the entry differ. Fields that the file does not keep
	// are not compared.
	Differs []Difference
	// Beside are the other entries with the same PID file, as namespace:name. They start the process again
	// after it was stopped.
	Beside []string
}

// read reports whether the file was read. It is false for a nil Hosting.
func (k *Hosting) read() bool { return k != nil && k.Why == "" }

// Unread reports whether the file was to be read and could not be.
func (k *Hosting) Unread() bool { return k != nil && k.Why != "" }

// lacks reports whether the file was read and has no entry for the process.
func (k *Hosting) lacks() bool { return k.read() && !k.Hosted }

// differs reports whether the entry in the file differs from the declared spec.
func (k *Hosting) differs() bool { return k.read() && len(k.Differs) > 0 }

// Fields returns the fields in which the agent's entry differs from the spec.
func (k *Hosting) Fields() []Difference {
	if !k.read() {
		return nil
	}
	return k.Differs
}

// Verified reports whether the file has the declared spec, as far as it keeps one.
func (k *Hosting) Verified() bool { return k.read() && k.Hosted && len(k.Differs) == 0 }

// Difference is a field of a spec, named by its path (control.stop_cmd), with its declared and hosted values.
type Difference struct{ Field, Declared, Hosted string }

// Verifier is a Process whose platform can read what the agents host.
type Verifier interface {
	Process
	// Hosting reads the agents' files. It returns an answer for every host, and changes nothing.
	Hosting(ctx context.Context, hosts []Host) map[Host]Hosting
}

// LiveStatusWithin is LiveStatus for at most patience, or half of the remaining time if that is shorter. An
// agent that has not answered by then has no known state.
func LiveStatusWithin(ctx context.Context, p Process, patience time.Duration, hosts []Host) (map[Host]Status, error) {
	ctx, cancel := within(ctx, patience)
	defer cancel()
	return p.LiveStatus(ctx, hosts)
}

// within limits ctx to patience, or half of the remaining time if that is shorter.
func within(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	if deadline, bounded := ctx.Deadline(); bounded {
		patience = min(patience, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, patience)
}

// Part is the share of one process in an operation on several processes.
type Part struct {
	Process Process
	Hosts   []Host
	Observe Observer
}

// Joint is a Process whose platform runs an operation on several processes in one call.
type Joint interface {
	Process
	// OperateJointly is Operate for several processes of that platform. It returns one Results per part, in
	// the order of parts.
	OperateJointly(ctx context.Context, op Operation, parts []Part) []Results
}
