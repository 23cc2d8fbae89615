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

// Ensure is the state in which a hosted process is kept.
type Ensure string

// The values of Ensure, each requiring more than the one before.
const (
	EnsureRegistered Ensure = "registered"
	EnsureHosted     Ensure = "hosted"
	EnsureRunning    Ensure = "running"
)

// Ensures returns all values of Ensure, each requiring more than the one before.
func Ensures() []Ensure { return []Ensure{EnsureRegistered, EnsureHosted, EnsureRunning} }

// Verify is what a declaration is compared with, besides the cached status.
type Verify string

// The values of Verify: the labels of a registration, or also the agent's own file.
const (
	VerifyLabels Verify = "labels"
	VerifyAgent  Verify = "agent"
)

// Verifies returns all values of Verify.
func Verifies() []Verify { return []Verify{VerifyLabels, VerifyAgent} }

// Desired is the state that a host is compared with and brought to.
type Desired struct {
	Ensure Ensure
	// FingerprintLabel is the label that carries Fingerprint. If it is "", neither the spec nor the labels of
	// a registration are compared.
	FingerprintLabel string
	Fingerprint      string
	// Labels are the labels of the registration without fingerprint and owner.
	Labels map[string]string
	// Spec is a fingerprint of the spec alone.
	Spec string
	// Owner is the id of the object that registers.
	Owner string
	// Uncounted is what registering sends in addition to what the fingerprint covers.
	Uncounted string
	// Earlier are fingerprints that Owner registered earlier and has replaced since. A row with one of them
	// may be outdated.
	Earlier []string
	// HasSpec is false after an import that did not read the spec from the agents. They cannot be asked
	// without a spec, so the cached status decides.
	HasSpec bool
	// Verify is set if the agents' own files are compared field by field, too. A registration without a
	// fingerprint is then as declared if its fields are.
	Verify bool
}

// OwnerLabel returns the label for the id of the object that registered, given the label of the fingerprint.
// It is "" if there is no such label.
func OwnerLabel(fingerprintLabel string) string {
	if fingerprintLabel == "" {
		return ""
	}
	return fingerprintLabel + "_owner"
}

// OwnerLabel returns the label that carries Owner. If it is "", the owners of registrations are unknown.
func (d Desired) OwnerLabel() string { return OwnerLabel(d.FingerprintLabel) }

// AllLabels returns the labels of the registration, with fingerprint and owner.
func (d Desired) AllLabels() map[string]string {
	if d.FingerprintLabel == "" {
		return d.Labels
	}
	labels := maps.Clone(d.Labels)
	if labels == nil {
		labels = make(map[string]string, 2)
	}
	labels[d.FingerprintLabel] = d.Fingerprint
	if d.Owner != "" {
		labels[d.OwnerLabel()] = d.Owner
	}
	return labels
}

// startedSuffix follows the fingerprint if a start made the registration with less than is declared.
const startedSuffix = "-started"

// StartLabels returns AllLabels for a start that sends less than is registered. They show whether the start
// has replaced the registration.
func (d Desired) StartLabels() map[string]string {
	d.Fingerprint += startedSuffix
	return d.AllLabels()
}

// carried returns the fingerprint of a registration, and whether a start made the registration.
func (d Desired) carried(s Status) (fingerprint string, started bool) {
	return strings.CutSuffix(s.Labels[d.FingerprintLabel], startedSuffix)
}

// Report is the result of an inspection.
type Report struct {
	// Drift holds the hosts that are confirmed to differ from the desired state, with all their differences, the
	// most serious one first.
	Drift map[Host][]Code
	// Unreachable holds the hosts that look wrong in the cached status and could not be asked.
	Unreachable map[Host]Status
	// Cached is the cached status by host, without labels if the agent reports a later registration.
	Cached map[Host]Status
	// Live holds the answers of the agents that were asked.
	Live map[Host]Status
}

// SaysHosted reports whether anything shows whether the agent hosts the process on a host.
func (r Report) SaysHosted(h Host) bool {
	row := r.Cached[h]
	return row.HostedKnown || row.Kept.read() || r.Live[h].HostedKnown
}

// Inspect compares hosts with the desired state. It first makes one query of the cached status, which is
// cheap but may lag by minutes. So a difference there is only a suspicion, and the agents are asked to
// confirm it. They are also asked about hosts that are inDoubt or name another owner. silent are hosts whose agents
// did not answer before: so that not every refresh takes all its time, they get no more than Quick. registered is
// when hosts were registered as desired, by their agents' clocks, if known.
func Inspect(ctx context.Context, p Process, hosts []Host, want Desired, inDoubt, silent map[Host]bool, registered map[Host]int64) (Report, error) {
	report := Report{Drift: make(map[Host][]Code), Unreachable: make(map[Host]Status)}
	cached, err := p.SharedStatus(ctx, hosts)
	if err != nil {
		return report, fmt.Errorf("reading the cached status: %w", err)
	}
	report.Cached = WithKept(ctx, p, want, hosts, maps.Clone(cached))
	var suspects []Host
	for _, h := range hosts {
		status := report.Cached[h]
		differs := want.differences(status)
		switch {
		case want.HasSpec && (len(differs) > 0 || want.suspects(status) || inDoubt[h]):
			suspects = append(suspects, h)
		case want.HasSpec:
		case status.State == Unknown:
			report.Unreachable[h] = status
		case len(differs) > 0:
			report.Drift[h] = differs
		}
	}
	if len(suspects) == 0 {
		return report, nil
	}
	live, err := askSuspects(ctx, p, suspects, silent)
	report.Live = live
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return report, fmt.Errorf("asking the agents of %d hosts that look changed: %w", len(suspects), err)
	}
	for _, h := range suspects {
		now, known := live[h]
		if !known {
			// The deadline passed. The cached status may say why.
			now = Status{State: Unknown, Code: cached[h].Code, Message: cmp.Or(cached[h].Message, "the agent did not answer in time")}
		}
		report.confirm(h, want, now, registered[h])
	}
	return report, nil
}

// askSuspects asks the agents of suspects, those that were silent before first.
func askSuspects(ctx context.Context, p Process, suspects []Host, silent map[Host]bool) (map[Host]Status, error) {
	quiet, others := In(suspects, silent), Where(suspects, func(h Host) bool { return !silent[h] })
	live := make(map[Host]Status, len(suspects))
	if len(quiet) > 0 {
		answers, err := LiveStatusWithin(ctx, p, Quick, quiet)
		maps.Copy(live, answers)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) || len(others) == 0 {
			return live, err
		}
	}
	answers, err := p.LiveStatus(ctx, others)
	maps.Copy(live, answers)
	return live, err
}

// WithKept adds what the agents' own files show to statuses, if that is to be compared. A file that could not
// be read shows nothing. WithKept takes at most half of the remaining time.
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

// suspects reports whether the agent is to be asked although the cached status shows no difference.
func (d Desired) suspects(s Status) bool {
	return s.State == Unknown || d.Ensure != EnsureRegistered && s.Kept.lacks() || d.OwnedByOther(s)
}

// confirm judges a host by what its agent reports now. It ignores the labels of an older registration: one that the
// agent has replaced, or one of Owner that Owner has replaced.
func (r Report) confirm(h Host, want Desired, now Status, registered int64) {
	if now.State == Unknown {
		r.Unreachable[h] = now
		return
	}
	status := r.Cached[h]
	if status.olderThan(now.RegisterTime) || !want.carries(status) && want.mayBeEarlier(status, now.RegisterTime, registered) {
		status.Labels = nil
	}
	r.Cached[h] = status
	if differs := want.differences(confirmed(status, now)); len(differs) > 0 {
		r.Drift[h] = differs
	}
}

// differences returns how a status differs from the desired state. The first difference is the most serious
// one. Its repair repairs the others as well.
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
	case carried == d.Fingerprint, carried == "" && d.Verify: // the fields are compared instead
	case carried == d.Fingerprint+startedSuffix:
		differs = append(differs, Started)
	case carried == "":
		differs = append(differs, Anew)
	case !strings.HasPrefix(carried, FingerprintVersion):
		// A fingerprint of another version says nothing about the spec.
		return nil
	default:
		differs = append(differs, OtherSpec)
	}
	// Labels that the platform or a colleague added do not change what was declared.
	for key, value := range d.Labels {
		if carried, found := labels[key]; !found || carried != value {
			return append(differs, OtherLabels)
		}
	}
	// The operation that replaced the labels had no owner to send. A registration without an owner may be
	// unregistered by its previous owner.
	if len(differs) == 0 && carried != "" && d.Owner != "" && labels[d.OwnerLabel()] == "" {
		return append(differs, OtherLabels)
	}
	return differs
}

// MadeNow is Made for a row that cannot show an earlier registration with the same declaration.
func (d Desired) MadeNow(row Status, live, ours int64) bool {
	return d.Made(row) && !d.mayBeEarlier(row, live, ours)
}

// mayBeEarlier reports whether a row shows what Owner has registered earlier. It does not if the agent's times
// show that the row's registration was made after ours: live is its time now, ours its time after our
// registration.
func (d Desired) mayBeEarlier(row Status, live, ours int64) bool {
	another := registeredSince(ours, live) && row.RegisterTime == live
	carried, _ := d.carried(row)
	return d.Owns(row) && slices.Contains(d.Earlier, carried) && !another
}

// OwnedByOther reports whether a registration names an owner other than d's. A registration without an owner,
// such as a console makes, does not.
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

// Ours reports whether a registration is exactly the desired one. If registrations name owners, one without
// an owner is not: an operation that hosted the process may have put the fingerprint on another object's
// registration.
func (d Desired) Ours(s Status) bool {
	return d.carries(s) && (d.Owner == "" || s.Labels[d.OwnerLabel()] != "")
}

// Made reports whether a registration is the desired one and was made by d's object.
func (d Desired) Made(s Status) bool {
	return d.carries(s) && (d.Owner == "" || d.Owns(s))
}

// Alike reports whether a registration was made by d's object with the desired spec and other labels. spec is what
// d.Spec is a fingerprint of. Labels that are not declared now may have been declared then, or may be the platform's.
func (d Desired) Alike(s Status, spec any) bool {
	if !d.Owns(s) {
		return false
	}
	carried, _ := d.carried(s)
	labels := maps.Clone(s.Labels)
	maps.DeleteFunc(labels, func(name, _ string) bool { return name == d.FingerprintLabel || name == d.OwnerLabel() })
	made, err := Fingerprint(spec, labels)
	if err == nil && made != carried {
		maps.DeleteFunc(labels, func(name, _ string) bool { _, declared := d.Labels[name]; return !declared })
		made, err = Fingerprint(spec, labels)
	}
	return err == nil && made == carried
}

// carries reports whether a registration has the desired fingerprint, whoever made it.
func (d Desired) carries(s Status) bool {
	carried, _ := d.carried(s)
	return d.FingerprintLabel != "" && s.State != Unregistered && carried == d.Fingerprint
}

// AsFound reports whether a registration made by another tool, with neither a fingerprint nor an owner, is as
// declared, as the agent's own file shows.
func (d Desired) AsFound(s Status) bool {
	unmarked := s.Labels[d.FingerprintLabel] == "" && s.Labels[d.OwnerLabel()] == ""
	return d.Verify && s.ShowsLabels() && unmarked && s.Kept.Verified() && len(d.differentLabels(s.Labels)) == 0
}

// confirmed combines the cached status with what the agent reports.
func confirmed(row, live Status) Status {
	status := live
	status.Labels, status.Kept = row.Labels, row.Kept
	if row.olderThan(live.RegisterTime) || row.State == Unregistered {
		// The row predates the agent's registration, so its labels say nothing about that.
		status.Labels = nil
	}
	if !live.HostedKnown {
		status.Hosted, status.HostedKnown = row.Hosted, row.HostedKnown
	}
	// An agent answers about any process, registered or not.
	registered := row.State != Unregistered || live.Hosted || live.RegisterTime > 0
	if !registered {
		status.State = Unregistered
	}
	return status
}
