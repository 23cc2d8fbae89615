package procapi

import (
	"encoding/json"
	"iter"
	"maps"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// HostResult is one value of a result map. The English document of
// get_proc_operate_result spells two fields errcode and errmsg.
type HostResult struct {
	Code    int64
	Message string
	// Content is a document. The platform sends it inside a string; some of its faces as an object.
	Content string

	silent     bool // neither code nor message nor content
	unreadable bool // no code, and so no verdict
}

// UnmarshalJSON gives an unreadable value the code -1, and never fails: one unreadable host must
// not fail the others. It quotes all of it, because half of a secret would not be recognized.
func (r *HostResult) UnmarshalJSON(raw []byte) error {
	var wire wireResult[Text]
	if err := json.Unmarshal(raw, &wire); err != nil {
		*r = HostResult{Code: -1, Message: "unreadable result: " + onOneLine(string(raw)), unreadable: true}
		return nil //nolint:nilerr // one unreadable host must not fail the others
	}
	result, known := wire.result()
	if !known {
		result = HostResult{Code: -1, Message: "a result without a code: " + onOneLine(string(raw)), silent: saysNothing(raw), unreadable: true}
	}
	*r = result
	return nil
}

// wireResult is a result as it is written. C is string if a content has to be one, and Text if it
// may be an object.
type wireResult[C ~string] struct {
	ErrorCode Code `json:"error_code"`
	ErrCode   Code `json:"errcode"`
	ErrorMsg  Text `json:"error_msg"`
	ErrMsg    Text `json:"errmsg"`
	Content   C    `json:"content"`
}

// result is empty without a code. Of two codes, one that is no success counts.
func (w wireResult[C]) result() (result HostResult, known bool) {
	code := w.ErrorCode
	if !code.Known || code.Value == CodeOK && w.ErrCode.Known {
		code = w.ErrCode
	}
	message := w.ErrorMsg
	if message == "" {
		message = w.ErrMsg
	}
	return HostResult{Code: code.Value, Message: string(message), Content: string(w.Content)}, code.Known
}

// saysNothing reports whether a result is only a placeholder, and not one that cannot be read.
func saysNothing(raw []byte) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && len(members) == 0
}

// ResultMap holds the answers of a call or a task for each host. Any value but an object of results
// (null, "", []) is no result yet. So is an empty value of a host (null, {}).
type ResultMap map[string]HostResult

// UnmarshalJSON never fails.
func (m *ResultMap) UnmarshalJSON(raw []byte) error {
	form, take := m.Plain()
	if json.Unmarshal(raw, form) == nil && take() {
		return nil
	}
	var results map[string]HostResult
	if err := json.Unmarshal(raw, &results); err != nil {
		results = nil
	}
	maps.DeleteFunc(results, func(_ string, r HostResult) bool { return r.silent })
	*m = results
	return nil
}

// Plain implements [bkapi.Plain]: results where each of them can be read, which is the rule.
func (m *ResultMap) Plain() (form any, take func() bool) {
	var wire map[string]wireResult[string]
	return &wire, func() bool {
		results := make(ResultMap, len(wire))
		for key, w := range wire {
			result, known := w.result()
			if !known {
				return false
			}
			results[key] = result
		}
		*m = results
		return len(wire) > 0
	}
}

// Keys are those under which a result map may hold a host, the likeliest first.
// They are built for the host and looked up. A key of the platform is never taken
// apart: an IPv6 address, a Windows path or a name may hold the separator.
type Keys func(fleet.Host) iter.Seq[string]

// heard is what an answer has of a host, if anything.
type heard struct {
	HostResult

	found bool
}

// lookUp is what an answer has of each host.
func lookUp(answers ResultMap, hosts []fleet.Host, keys Keys) []heard {
	all := make([]heard, len(hosts))
	for i, host := range hosts {
		for key := range keys(host) {
			if all[i].HostResult, all[i].found = answers[key]; all[i].found {
				break
			}
		}
	}
	return all
}
