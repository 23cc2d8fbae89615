// Package belief lists the provider's unproven assumptions about a platform, as data.
// bk-doctor checks them on a platform, bk-simulator can behave either way, and the guide
// "Your platform" is generated from them. The package imports neither the clients nor the
// simulator, which share no code but must both agree with this table.
package belief

import (
	"slices"
	"strconv"
	"time"
)

// Belief is one row.
type Belief struct {
	// ID names the row in a profile. A row with a Switch has the name of the simulator's.
	ID string
	// Holds is what the provider believes.
	Holds Words
	// Otherwise is the consequence if the belief is wrong, and what to set.
	Otherwise Words
	Faces     []Face
	Source    Words
	Sure      Confidence
	Kind      Kind
	// Expected is the value in a profile if the belief holds, "" if any value will do.
	Expected string
	// Switch reports whether a switch makes the simulator behave otherwise.
	Switch bool
	// Settled is the command of bk-doctor that checks it.
	Settled Settled
	// WhyUnsettled is why it cannot be checked from outside, for SettledByNothing.
	WhyUnsettled Words
	// Code lists the files that depend on it.
	Code []string
}

// Words is a text in the languages of the documentation.
type Words struct{ English, Chinese string }

// Face is a way to call the platform.
type Face string

// The faces.
const (
	ESB  Face = "esb"
	APIG Face = "apigw"
	JOB  Face = "job"
	CMDB Face = "cmdb"
)

// Confidence is how sure a belief is before the platform is checked.
type Confidence string

// The degrees of confidence.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Kind is the type of a value in a profile.
type Kind string

// The kinds. A YesNo is whether the platform behaves like the switch of that name, so a row
// with a switch expects "no".
const (
	YesNo Kind = "yes-no"
	Code  Kind = "code"
	Span  Kind = "span"
)

// Values of a profile.
const (
	Yes     = "yes"
	No      = "no"
	Unknown = "unknown"
)

// Settled is the command that checks a belief.
type Settled string

// The ways in which a belief is settled.
const (
	SettledByCheck   Settled = "check"
	SettledByProbe   Settled = "probe"
	SettledByNothing Settled = "nothing"
)

// On reports whether the belief matters on a face.
func (b Belief) On(face Face) bool { return slices.Contains(b.Faces, face) }

// As reports whether a value is as the provider believes. An unknown one is not.
func (b Belief) As(value string) bool {
	return value == b.Expected || b.Expected == "" && value != Unknown && value != ""
}

// Find returns the row with an id.
func Find(id string) (Belief, bool) {
	i := slices.IndexFunc(rows, func(b Belief) bool { return b.ID == id })
	if i < 0 {
		return Belief{}, false
	}
	return rows[i], true
}

// All returns the rows, those about registering first.
func All() []Belief { return slices.Clone(rows) }

// IDs returns the ids of the rows, in their order.
func IDs() []string {
	ids := make([]string, len(rows))
	for i, b := range rows {
		ids[i] = b.ID
	}
	return ids
}

// want returns "" if value is valid for a kind, and else which values are.
func (k Kind) want(value string) string {
	switch {
	case value == Unknown:
		return ""
	case k == Code:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return `a code such as "829", or "unknown"`
		}
	case k == Span:
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return `a time such as "90s", or "unknown"`
		}
	case value != Yes && value != No:
		return `"yes", "no" or "unknown"`
	}
	return ""
}
