// Package belief lists what the provider believes of a platform and nobody has proven, as
// data. bk-doctor asks these questions of a platform, bk-simulator answers them either way,
// and the guide "Your platform" is printed from them. It knows nobody: neither the clients
// nor the simulator, which share no code and both agree with this table.
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
	// Otherwise is what follows for the provider where it is otherwise, and what to set.
	Otherwise Words
	Faces     []Face
	Source    Words
	Sure      Confidence
	Kind      Kind
	// Expected is the value of a profile in which the belief holds, "" where any will do.
	Expected string
	// Switch says that the simulator can be made to behave otherwise.
	Switch bool
	// Settled is how bk-doctor finds out.
	Settled Settled
	// Untold is why it cannot be checked from outside, for SettledByNothing.
	Untold Words
	// Code is the product code that depends on it.
	Code []string
}

// Words say one thing in the languages of the documentation.
type Words struct{ English, Chinese string }

// Face is a way into the platform where the question arises.
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

// The kinds. A YesNo says whether the platform is as the switch of that name has it, so "no"
// is what a row with a switch expects.
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

// Settled is which command finds out.
type Settled string

// The ways in which a belief is settled.
const (
	SettledByCheck   Settled = "check"
	SettledByProbe   Settled = "probe"
	SettledByNothing Settled = "nothing"
)

// On reports whether a question arises on a face.
func (b Belief) On(face Face) bool { return slices.Contains(b.Faces, face) }

// As reports whether a value is as the provider believes. An unknown one is neither.
func (b Belief) As(value string) bool {
	return value == b.Expected || b.Expected == "" && value != Unknown && value != ""
}

// Find is the row with an id.
func Find(id string) (Belief, bool) {
	i := slices.IndexFunc(rows, func(b Belief) bool { return b.ID == id })
	if i < 0 {
		return Belief{}, false
	}
	return rows[i], true
}

// All are the rows, those of registering first.
func All() []Belief { return slices.Clone(rows) }

// IDs are the names of the rows, in their order.
func IDs() []string {
	ids := make([]string, len(rows))
	for i, b := range rows {
		ids[i] = b.ID
	}
	return ids
}

// want says which values a kind has, "" where value is one of them.
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
