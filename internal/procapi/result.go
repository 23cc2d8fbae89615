package procapi

import (
	"cmp"
	"iter"
	"maps"

	json "github.com/go-json-experiment/json/v1"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// HostResult is one value of a result map. The English document of
// get_proc_operate_result spells two fields errcode and errmsg.
type HostResult struct {
	Code    int64
	Message string
	// Content is a document. The platform sends it inside a string, and on some faces as an object.
	Content string

	silent     bool // neither code nor message nor content
	unreadable bool // no code, and so no verdict
}

// UnmarshalJSON gives an unreadable value the code -1, and never fails: one unreadable host must not fail
// the others. It quotes the whole value, because half of a secret would not be recognized.
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

// wireResult is the JSON of a result. C is string if the content must be one, and Text if it may be an
// object.
type wireResult[C ~string] struct {
	ErrorCode Code `json:"error_code"`
	ErrCode   Code `json:"errcode"`
	ErrorMsg  Text `json:"error_msg"`
	ErrMsg    Text `json:"errmsg"`
	Content   C    `json:"content"`
}

// result is empty without a code. Of two codes, one that is not success counts.
func (w wireResult[C]) result() (result HostResult, known bool) {
	code := w.ErrorCode
	if !code.Known || code.Value == CodeOK && w.ErrCode.Known {
		code = w.ErrCode
	}
	return HostResult{Code: code.Value, Message: string(cmp.Or(w.ErrorMsg, w.ErrMsg)), Content: string(w.Content)}, code.Known
}

// saysNothing reports whether a result is only a placeholder. An unreadable result is not.
func saysNothing(raw []byte) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && len(members) == 0
}

// ResultMap has the results of a call or a task by host. Any value other than an object of results (null,
// "", []) means that there is no result yet. So does an empty value of a host (null, {}).
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

// Plain implements [bkapi.Plain] for results that can all be read, as is usual.
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

// Keys are the keys under which a result map may have a host, the likeliest first. They are built for the
// host and looked up, because an IPv6 address, a Windows path or a name may contain the separator.
type Keys func(fleet.Host) iter.Seq[string]

// hostAnswer is the result of a host in an answer, if there is one.
type hostAnswer struct {
	HostResult

	found bool
}

// lookUp finds the results of the hosts in an answer.
func lookUp(answers ResultMap, hosts []fleet.Host, keys Keys) []hostAnswer {
	all := make([]hostAnswer, len(hosts))
	for i, host := range hosts {
		for key := range keys(host) {
			if all[i].HostResult, all[i].found = answers[key]; all[i].found {
				break
			}
		}
	}
	return all
}
