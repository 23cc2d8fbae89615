package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Ensure is how far a hosted process is looked after.
type Ensure string

// How far a hosted process is looked after, each more than the one before.
const (
	EnsureRegistered Ensure = "registered"
	EnsureHosted     Ensure = "hosted"
	EnsureRunning    Ensure = "running"
)

// Ensures are all of them, each asking for more than the one before.
func Ensures() []Ensure { return []Ensure{EnsureRegistered, EnsureHosted, EnsureRunning} }

// Verify is what is compared with a declaration, beyond the cached status.
type Verify string

// What is compared: the labels that a registration carries, or also what the agent keeps in its own
// file.
const (
	VerifyLabels Verify = "labels"
	VerifyAgent  Verify = "agent"
)

// Verifies are all of them.
func Verifies() []Verify { return []Verify{VerifyLabels, VerifyAgent} }

// Desired is the state that a host is compared with and brought to.
type Desired struct {
	Ensure Ensure
	// FingerprintLabel is the label that carries Fingerprint. With "" neither the
	// spec nor the labels of a registration are compared.
	FingerprintLabel string
	Fingerprint      string
	// Labels are those of the registration, without the fingerprint and the owner.
	Labels map[string]string
	// Spec is a fingerprint of the spec alone.
	Spec string
	// Owner is the id of the object that registers.
	Owner string
	// Uncounted is what registering sends beyond what the fingerprint counts.
	Uncounted string
	// Earlier are fingerprints that Owner registered before and has replaced since. A row that
	// shows one of them is an older picture, see [Desired.superseded].
	Earlier []string
	// HasSpec is false after an import. A live query needs a spec, so the cached status
	// decides then.
	HasSpec bool
	// Verify: what the agents' own files show is compared as well, field by field. A registration
	// without a fingerprint is then as declared if its fields are.
	Verify bool
}

// OwnerLabel is the label beside that of a fingerprint, "" where there is none. It carries the id of
// the object that registered.
func OwnerLabel(fingerprintLabel string) string {
	if fingerprintLabel == "" {
		return ""
	}
	return fingerprintLabel + "_owner"
}

// OwnerLabel is the label that carries Owner. With "" the owner of a registration is not known.
func (d Desired) OwnerLabel() string { return OwnerLabel(d.FingerprintLabel) }

// AllLabels are the labels that a registration carries, fingerprint and owner among
// them.
func (d Desired) AllLabels() map[string]string {
	if d.FingerprintLabel == "" {
		return d.Labels
	}
	labels := maps.Clone(d.Labels)
	if labels == nil {
		labels = make(map[string]string, 2)
	}
	labels[d.FingerprintLabel] = d.Fingerprint
	if d.OwnerLabel() != "" && d.Owner != "" {
		labels[d.OwnerLabel()] = d.Owner
	}
	return labels
}

// startedSuffix follows the fingerprint of a registration that a start made with less than is
// declared.
const startedSuffix = "-started"

// StartLabels are AllLabels for a start that does not carry all that is registered. They show
// whether it has replaced the registration.
func (d Desired) StartLabels() map[string]string {
	d.Fingerprint += startedSuffix
	return d.AllLabels()
}

// carried is the fingerprint that a registration carries, and whether a start has made it.
func (d Desired) carried(s Status) (fingerprint string, started bool) {
	return strings.CutSuffix(s.Labels[d.FingerprintLabel], startedSuffix)
}

// Report is what an inspection found.
type Report struct {
	// Drift holds the hosts that are confirmed not to be as desired.
	Drift map[Host]Code
	// Differs is all that differs there, for people to read.
	Differs map[Host][]Code
	// Unreachable holds the hosts that look wrong in the cached status and could not be asked.
	Unreachable map[Host]Status
	// Cached is the platform's cached status, by host, without the labels where the agent
	// knows of a later registration.
	Cached map[Host]Status
	// Live is what the agents said that were asked.
	Live map[Host]Status
}

// Inspect compares hosts with what is desired. One query of the cached status comes first, because
// it is cheap. It may lag by minutes, so what looks wrong there is only suspected, and the agents
// are asked before it counts. They are also asked about hosts in doubt and hosts that name another
// owner, however these look. registered is when the hosts were registered as desired, by their
// agents' time, if that is known.
func Inspect(ctx context.Context, p Process, hosts []Host, want Desired, inDoubt map[Host]bool, registered map[Host]int64) (Report, error) {
	report := Report{Drift: make(map[Host]Code), Differs: make(map[Host][]Code), Unreachable: make(map[Host]Status)}
	cached, err := p.SharedStatus(ctx, hosts)
	if err != nil {
		return report, fmt.Errorf("reading the cached status: %w", err)
	}
	report.Cached = WithKept(ctx, p, want, hosts, maps.Clone(cached))
	var suspects []Host
	for _, h := range hosts {
		switch status := report.Cached[h]; {
		case status.State == Unknown && !want.HasSpec:
			report.Unreachable[h] = status
		case report.judged(h, want.differences(status)) || want.suspects(status) || inDoubt[h]:
			suspects = append(suspects, h)
		}
	}
	if len(suspects) == 0 || !want.HasSpec {
		return report, nil
	}
	live, err := p.LiveStatus(ctx, suspects)
	report.Live = live
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return report, fmt.Errorf("asking the agents of %d hosts that look changed: %w", len(suspects), err)
	}
	for _, h := range suspects {
		now, known := live[h]
		if !known {
			// The time was up: the cached status says why, where it knows.
			now = Status{State: Unknown, Code: cached[h].Code, Message: cmp.Or(cached[h].Message, "the agent did not answer in time")}
		}
		report.confirm(h, want, now, registered[h])
	}
	return report, nil
}

// WithKept adds to the statuses of hosts what their agents really host, if that is to be compared. A
// file that could not be read shows nothing. It takes at most half of the remaining time.
func WithKept(ctx context.Context, p Process, want Desired, hosts []Host, statuses map[Host]Status) map[Host]Status {
	verifier, can := p.(Verifier)
	if !can || !want.Verify || !want.HasSpec || len(hosts) == 0 {
		return statuses
	}
	ctx, cancel := within(ctx, Patience)
	defer cancel()
	statuses = maps.Clone(statuses)
	for h, kept := range verifier.Hosting(ctx, hosts) {
		status := statuses[h]
		status.Kept = &kept
		statuses[h] = status
	}
	return statuses
}

// suspects reports whether a cached status that does not differ is not sufficient all the same.
func (d Desired) suspects(s Status) bool {
	return s.State == Unknown || d.Ensure != EnsureRegistered && s.Kept.lacks() || d.OwnedByOther(s)
}

// confirm judges a host by what its agent says now. Labels of an older registration say nothing.
func (r Report) confirm(h Host, want Desired, now Status, registered int64) {
	if now.State == Unknown {
		r.judged(h, nil)
		r.Unreachable[h] = now
		return
	}
	status := r.Cached[h]
	if want.superseded(status, now.RegisterTime, registered) {
		status.Labels = nil
	}
	r.judged(h, want.differences(confirmed(status, now)))
	if status.olderThan(now.RegisterTime) {
		status.Labels = nil
	}
	r.Cached[h] = status
}

// judged takes what differs on a host in place of what was known before, and reports
// whether anything does.
func (r Report) judged(h Host, differs []Code) bool {
	if len(differs) == 0 {
		delete(r.Drift, h)
		delete(r.Differs, h)
		return false
	}
	r.Drift[h], r.Differs[h] = differs[0], differs
	switch differs[0] { //nolint:exhaustive // the others are in state as they are
	case Anew, HostedOtherwise:
		r.Drift[h] = OtherSpec
	case Started:
		r.Drift[h] = OtherLabels
	}
	return true
}

// differences says how a status differs from what is desired; the first is the gravest,
// and repaired along with the others.
func (d Desired) differences(s Status) []Code {
	if s.State == Unregistered {
		return []Code{NotRegistered}
	}
	var differs []Code
	if s.Kept.differs() {
		differs = append(differs, HostedOtherwise)
	}
	differs = append(differs, d.differentLabels(s.Labels)...)
	unhosted := s.HostedKnown && !s.Hosted || !s.HostedKnown && s.Kept.lacks()
	if d.Ensure != EnsureRegistered && unhosted {
		differs = append(differs, NotHosted)
	}
	if d.Ensure == EnsureRunning && s.State != Running {
		differs = append(differs, NotRunning)
	}
	return differs
}

func (d Desired) differentLabels(labels map[string]string) []Code {
	if d.FingerprintLabel == "" || labels == nil {
		return nil
	}
	var differs []Code
	carried := labels[d.FingerprintLabel]
	switch {
	case carried == d.Fingerprint, carried == "" && d.Verify: // the fields are compared then
	case carried == d.Fingerprint+startedSuffix:
		differs = append(differs, Started)
	case carried == "":
		differs = append(differs, Anew)
	case !strings.HasPrefix(carried, FingerprintVersion):
		// Another version of the fingerprint: it says nothing of the spec.
		return nil
	default:
		differs = append(differs, OtherSpec)
	}
	// Labels that a platform or a colleague added change nothing of what was declared.
	for key, value := range d.Labels {
		if carried, found := labels[key]; !found || carried != value {
			return append(differs, OtherLabels)
		}
	}
	// An operation that replaced the labels had no owner to send. A registration without an owner
	// may be unregistered by whoever had it before.
	if len(differs) == 0 && carried != "" && d.ownerless(labels) {
		return append(differs, OtherLabels)
	}
	return differs
}

// ownerless reports whether labels name no owner although d has one.
func (d Desired) ownerless(labels map[string]string) bool {
	return d.OwnerLabel() != "" && d.Owner != "" && labels[d.OwnerLabel()] == ""
}

// superseded reports whether a row shows what Owner had registered before and has replaced. Such a
// row says nothing of today's registration. The exception is a row of a registration that was made
// after ours, which the agent's times show: live is its time now, ours the one after our
// registration.
func (d Desired) superseded(row Status, live, ours int64) bool {
	another := registeredSince(ours, live) && row.RegisterTime == live
	carried, _ := d.carried(row)
	return d.Owns(row) && carried != d.Fingerprint && slices.Contains(d.Earlier, carried) && !another
}

// OwnedByOther reports whether a registration names an owner that is not d's. One that names none,
// as after a console registered it, does not.
func (d Desired) OwnedByOther(s Status) bool {
	if d.OwnerLabel() == "" || s.State == Unregistered {
		return false
	}
	owner := s.Labels[d.OwnerLabel()]
	return owner != "" && owner != d.Owner
}

// Owns reports whether a registration names d's object as its owner.
func (d Desired) Owns(s Status) bool {
	return d.OwnerLabel() != "" && d.Owner != "" && s.State != Unregistered && s.Labels[d.OwnerLabel()] == d.Owner
}

// Ours reports whether a registration is the very one that is desired. If registrations name
// owners, one without an owner is not. An operation that hosted the process may have left the
// fingerprint there, beside another's registration.
func (d Desired) Ours(s Status) bool {
	return d.Carries(s) && (d.OwnerLabel() == "" || d.Owner == "" || s.Labels[d.OwnerLabel()] != "")
}

// Made reports whether a registration is the desired one, and was made by d's object.
func (d Desired) Made(s Status) bool {
	return d.Ours(s) && (d.OwnerLabel() == "" || d.Owner == "" || d.Owns(s))
}

// Carries reports whether a registration has the fingerprint of what is desired, whoever
// made it.
func (d Desired) Carries(s Status) bool {
	carried, _ := d.carried(s)
	return d.FingerprintLabel != "" && s.State != Unregistered && carried == d.Fingerprint
}

// Unmarked reports whether a registration names neither a fingerprint nor an owner.
func (d Desired) Unmarked(s Status) bool {
	return s.Labels != nil && s.State != Unregistered && s.Labels[d.FingerprintLabel] == "" && s.Labels[d.OwnerLabel()] == ""
}

// AsFound reports whether a registration that another tool made is as declared all the same, as the
// agent's own file shows.
func (d Desired) AsFound(s Status) bool {
	return d.Verify && d.Unmarked(s) && s.State != Unknown && s.Kept.Verified() && len(d.differentLabels(s.Labels)) == 0
}

// confirmed puts the cached status and what the agent says together.
func confirmed(row, live Status) Status {
	status := live
	status.Labels, status.Kept = row.Labels, row.Kept
	if row.olderThan(live.RegisterTime) || row.State == Unregistered {
		// The registration in the cached status is an older one than the agent's, so its
		// labels say nothing of today's.
		status.Labels = nil
	}
	if !live.HostedKnown {
		status.Hosted, status.HostedKnown = row.Hosted, row.HostedKnown
	}
	// An agent answers about any process it is asked for, registered or not.
	registered := row.State != Unregistered || live.Hosted || live.RegisterTime > 0
	if !registered {
		status.State = Unregistered
	}
	return status
}
