package fleet

import (
	"context"
	"errors"
	"time"
)

// ErrNoSpec is why the agents cannot be asked.
var ErrNoSpec = errors.New("agents are asked by a spec, which is not known before the first apply after an import")

// Operation is something the platform can do to a process.
type Operation string

// The operations of the platform.
const (
	Start   Operation = "start"
	Stop    Operation = "stop"
	Restart Operation = "restart"
	Reload  Operation = "reload"
	Kill    Operation = "kill"
	// Supervise makes the agent restart the process when it dies, which the platform calls hosting.
	// It does not start the process.
	Supervise Operation = "host"
	// Unsupervise ends that; it does not stop the process.
	Unsupervise Operation = "unhost"
)

// Operations are those a user can ask for, in the order of the documents.
func Operations() []Operation { return []Operation{Start, Stop, Restart, Reload, Kill} }

// LeavesRunning reports whether the process is meant to run once the operation is over.
func (op Operation) LeavesRunning() bool { return op == Start || op == Restart || op == Reload }

// Starts reports whether an operation ends with a check that the process runs, which takes
// start_check_secs beyond its command.
func (op Operation) Starts() bool { return op == Start || op == Restart }

// Stops reports whether an operation waits until the process has stopped, which takes up to
// stop_check_secs beyond its command.
func (op Operation) Stops() bool { return op == Stop || op == Kill || op == Restart }

// State is what a process is doing on one host.
type State string

// The states of a process on one host.
const (
	Running      State = "running"
	Stopped      State = "stopped"
	Unregistered State = "unregistered"
	// Unknown means that the platform could not say (agent unreachable, answer unreadable).
	Unknown State = "unknown"
)

// Status is what the platform says of a process on one host.
type Status struct {
	State State
	// Hosted: the agent restarts the process. HostedKnown is false if the answer does not say.
	Hosted      bool
	HostedKnown bool
	// Labels are those of the registration; nil where the answer carries none.
	Labels  map[string]string
	PID     int64
	Version string
	// Health is what the health command printed, "" where it printed nothing, failed, or
	// is not there.
	Health string
	// CPUUsage and MemUsage are percent of the whole machine.
	CPUUsage, MemUsage float64
	// RegisterTime is epoch seconds of the registration, 0 where not known. A cached status with an older one
	// than the live status is out of date. The very time of before is the same registration, or one that did
	// not renew the time.
	RegisterTime int64
	// StartTime is epoch seconds, by the agent's clock, of when the agent last started the
	// process; 0 where not known.
	StartTime int64
	// Code and Message say why State is Unknown.
	Code    int64
	Message string
	// Unread: there was an answer without a state.
	Unread bool
	// Refused: the query was answered with an error, other than that the agent is away.
	Refused bool
	// Away: the agent does not answer, as far as the platform says, or had not by the end. Late: it is
	// only that, and the agent may be slow.
	Away, Late bool
	// Kept is what the agent's own file shows, nil unless it was to be read.
	Kept *Hosting
}

// Silent reports whether the platform says that the agent does not answer. A failed request, a queue
// and a missing result say nothing about an agent.
func (s Status) Silent() bool { return s.State == Unknown && s.Away && !s.Late }

// Asked reports whether the agent was asked, whether it answered or not.
func (s Status) Asked() bool { return s.State != Unknown || s.Unread || s.Refused || s.Away }

// olderThan reports whether the cached status is from before a registration that the agent knows
// of, by its time. Its labels are then another registration's.
func (s Status) olderThan(registered int64) bool {
	return s.RegisterTime > 0 && s.RegisterTime < registered
}

// registeredSince reports whether an agent's time is another one than before, and both are known.
func registeredSince(before, now int64) bool { return before != 0 && now != 0 && now != before }

// Process is one process, with a name and a spec, on a platform. Every method returns an outcome or
// a status for each host that it was given. It waits until the platform has settled or ctx ends,
// and splits what is too large for one request.
type Process interface {
	// Register makes the platform know the process on these hosts. A host on which it is registered
	// already comes back Failed and AlreadyDone. If that is not known, nothing is replaced.
	Register(ctx context.Context, hosts []Host) Results
	// Reregister replaces the registration.
	Reregister(ctx context.Context, hosts []Host) Results
	// Unregister is Done where there was no registration.
	Unregister(ctx context.Context, hosts []Host) Results
	// Operate runs an operation once. It is never sent twice.
	Operate(ctx context.Context, op Operation, hosts []Host, observe Observer) Results
	// Resume asks for the end of operations that were sent before, each by its task, and sends
	// nothing. It looks once, or waits as Operate does. A host without a verdict comes back
	// Pending. If the platform says nothing of it by the task, however often it is asked, it comes
	// back Lost.
	Resume(ctx context.Context, tasks map[Host]Task, wait bool, observe Observer) Results
	// CachedStatus is the platform's cached status, which may lag by minutes.
	CachedStatus(ctx context.Context, hosts []Host) (map[Host]Status, error)
	// SharedStatus is CachedStatus for a refresh. It may be an answer for another process from a
	// moment ago, if nothing has changed since.
	SharedStatus(ctx context.Context, hosts []Host) (map[Host]Status, error)
	// LiveStatus asks the agents, which requires a spec: [ErrNoSpec]. It cannot distinguish a
	// process that is not registered from one that is registered but neither hosted nor running.
	LiveStatus(ctx context.Context, hosts []Host) (map[Host]Status, error)
	// OneShot reports whether the process ends by itself when it has done its work.
	OneShot() bool
	// Settles is how long the command of an operation may take on a host, and the check after
	// it where that starts or stops the process.
	Settles() (command, startCheck, stopCheck time.Duration)
	// HostingRegisters reports whether to register is to host, so that what is not
	// hosted is not registered.
	HostingRegisters() bool
	// OtherNames are the other names of hosts that the platform knows: an agent id for an address,
	// and an address for an agent id. An error says that it could not be asked.
	OtherNames(ctx context.Context, hosts []Host) (map[Host]HostID, error)
	// KnownNames are those of OtherNames that the platform has told already. It asks nobody.
	KnownNames(hosts []Host) map[Host]HostID
}

// Hosting is what an agent's own file shows of a process: what it really hosts.
type Hosting struct {
	// Why says why the file could not be read; "" if it was. Then nothing else is known.
	Why string
	// Hosted reports whether the file has an entry of the process.
	Hosted bool
	// Differs are the fields in which the entry differs from the spec. Fields that the file does not
	// keep are not compared.
	Differs []Difference
	// Beside are other entries, as namespace:name, that have the same PID file. They start the
	// process again after it was stopped.
	Beside []string
}

// read reports whether the file was read. A nil Hosting was not.
func (k *Hosting) read() bool { return k != nil && k.Why == "" }

// lacks reports whether the file was read and has no entry of the process.
func (k *Hosting) lacks() bool { return k.read() && !k.Hosted }

// differs reports whether the file has another spec than the declared one.
func (k *Hosting) differs() bool { return k.read() && len(k.Differs) > 0 }

// Fields are those in which the agent has another spec.
func (k *Hosting) Fields() []Difference {
	if !k.read() {
		return nil
	}
	return k.Differs
}

// Verified reports whether the file has the declared spec, as far as it keeps one.
func (k *Hosting) Verified() bool { return k.read() && k.Hosted && len(k.Differs) == 0 }

// Difference is a field of a spec, by its path such as control.stop_cmd, as it is declared and as it
// is hosted.
type Difference struct{ Field, Declared, Hosted string }

// Verifier is a Process whose platform can read what agents host.
type Verifier interface {
	Process
	// Hosting reads it from the agents of hosts, and has an answer for each. It changes nothing.
	Hosting(ctx context.Context, hosts []Host) map[Host]Hosting
}

// LiveStatusWithin is LiveStatus for at most patience, or half of the remaining time. An agent that
// has not answered by then is not known.
func LiveStatusWithin(ctx context.Context, p Process, patience time.Duration, hosts []Host) (map[Host]Status, error) {
	ctx, cancel := within(ctx, patience)
	defer cancel()
	return p.LiveStatus(ctx, hosts)
}

// within bounds ctx by patience, or half of the remaining time.
func within(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	if deadline, bounded := ctx.Deadline(); bounded {
		patience = min(patience, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, patience)
}

// Part is what an operation on several processes asks of one of them.
type Part struct {
	Process Process
	Hosts   []Host
	Observe Observer
}

// Joint is a Process whose platform takes an operation on several processes in one call.
type Joint interface {
	Process
	// OperateJointly is Operate for several processes of that platform. The results are
	// those of the parts, in their order.
	OperateJointly(ctx context.Context, op Operation, parts []Part) []Results
}
