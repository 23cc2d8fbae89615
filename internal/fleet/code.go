package fleet

// Code says what is left to do on a host, "" for nothing. State keeps it, and the next apply
// decides by it alone: the list is closed, and a code that was released keeps its meaning.
type Code string

// The codes of out_of_sync.
const (
	// NotRegistered was never registered by the object, NoLongerRegistered was and is no more.
	NotRegistered      Code = "not_registered"
	NoLongerRegistered Code = "unregistered"
	// Unconfirmed may be registered: the answer was lost.
	Unconfirmed Code = "unconfirmed"
	// RegisteredByOther is registered by another owner. It is not replaced or removed unless it is
	// adopted.
	RegisteredByOther Code = "registered_by_other"
	OtherSpec         Code = "other_spec"
	OtherLabels       Code = "other_labels"
	NotHosted         Code = "not_hosted"
	NotRunning        Code = "not_running"
	// Unhealthy is as declared, but did not pass the gate of its rollout. No inspection finds it,
	// because it takes a while to show.
	Unhealthy Code = "unhealthy"
	// NotOperated is registered as declared, and the operation of on_update is still due.
	// OperationUnconfirmed may have been operated: the end of that was not seen.
	NotOperated          Code = "not_operated"
	OperationUnconfirmed Code = "operation_unconfirmed"
	// Started is OtherLabels of a registration that a start has replaced with less than is
	// declared. It is for messages, and never in state.
	Started Code = "registered_by_start"
	// Anew is OtherSpec of a registration without a fingerprint, which another tool made. It is for
	// messages, and never in state.
	Anew Code = "registered_anew"
)

// Codes are those of out_of_sync.
func Codes() []Code {
	return []Code{
		NotRegistered, NoLongerRegistered, Unconfirmed, RegisteredByOther, OtherSpec, OtherLabels, NotHosted, NotRunning, Unhealthy,
		NotOperated, OperationUnconfirmed,
	}
}
