package procapi

import (
	"cmp"
	"iter"
	"maps"

	json "github.com/go-json-experiment/json/v1"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// HostResult is one value of a result map. The English document of get_proc_operate_result spells two fields
// errcode and errmsg, so both spellings are read.
type HostResult struct {
	Code    int64
	Message string
	// Content is a JSON document. The platform sends it inside a string, and on some faces as an object.
	Content string

	silent     bool // an empty value, so no result yet
	unreadable bool // no code, and so no verdict
}

// UnmarshalJSON never fails, because one unreadable host must not make the other results unreadable. An
// unreadable value gets the code -1. The message quotes the whole value, because redaction would not recognize
// half of a secret.
func (r *HostResult) UnmarshalJSON(raw []byte) error {
	var wire wireResult[Text]
	if err := json.Unmarshal(raw, &wire); err != nil {
		*r = HostResult{Code: -1, Message: "unreadable result: " + onOneLine(string(raw)), unreadable: true}
		return nil //nolint:nilerr // one unreadable host must not fail the others
	}
	result, known := wire.result()
	if !known {
		result = HostResult{Code: -1, Message: "a result without a code: " + onOneLine(string(raw)), silent: isPlaceholder(raw), unreadable: true}
	}
	*r = result
	return nil
}

// wireResult is the JSON form of a result. C is string if the content must be a string, and Text if it may be
// an object.
type wireResult[C ~string] struct {
	ErrorCode Code `json:"error_code"`
	ErrCode   Code `json:"errcode"`
	ErrorMsg  Text `json:"error_msg"`
	ErrMsg    Text `json:"errmsg"`
	Content   C    `json:"content"`
}

// result returns the result, and whether it has a code. If it has two codes, one other than success counts.
func (w wireResult[C]) result() (result HostResult, known bool) {
	code := w.ErrorCode
	if !code.Known || code.Value == CodeOK && w.ErrCode.Known {
		code = w.ErrCode
	}
	return HostResult{Code: code.Value, Message: string(cmp.Or(w.ErrorMsg, w.ErrMsg)), Content: string(w.Content)}, code.Known
}

// isPlaceholder reports whether a result is only a placeholder, without any member. A result that cannot be read
// is not a placeholder.
func isPlaceholder(raw []byte) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && len(members) == 0
}

// ResultMap maps the keys of hosts to the results of a call or a task. Any value other than an object of
// results (null, "", []) means that there is no result yet. So does an empty value for a host (null, {}).
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

// Plain implements [bkapi.Plain] for the usual case, in which every result can be read.
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

// Keys returns the keys under which a result map may hold a host, the likeliest first. Keys are built and
// looked up, never parsed, because an IPv6 address, a Windows path or a name may contain the separator.
type Keys func(fleet.Host) iter.Seq[string]

// hostAnswer is the result of a host in an answer. found is false if the answer has none.
type hostAnswer struct {
	HostResult

	found bool
}

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
