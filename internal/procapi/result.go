package procapi

import (
	"encoding/json"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// HostResult is one value of a result map. The English document of
// get_proc_operate_result spells two fields errcode and errmsg.
type HostResult struct {
	Code    int64
	Message string
	Content json.RawMessage
}

// UnmarshalJSON gives what cannot be read the code -1, and never fails: one
// unreadable host must not fail the others.
func (r *HostResult) UnmarshalJSON(raw []byte) error {
	var wire struct {
		ErrorCode Number          `json:"error_code"`
		ErrCode   Number          `json:"errcode"`
		ErrorMsg  Text            `json:"error_msg"`
		ErrMsg    Text            `json:"errmsg"`
		Content   json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		*r = HostResult{Code: -1, Message: "unreadable result: " + excerpt(string(raw))}
		return nil //nolint:nilerr // one unreadable host must not fail the others
	}
	if !wire.ErrorCode.Known {
		wire.ErrorCode = wire.ErrCode
	}
	if wire.ErrorMsg == "" {
		wire.ErrorMsg = wire.ErrMsg
	}
	*r = HostResult{Code: wire.ErrorCode.Int(), Message: string(wire.ErrorMsg), Content: wire.Content}
	if !wire.ErrorCode.Known {
		*r = HostResult{Code: -1, Message: "a result without a code: " + excerpt(string(raw))}
	}
	return nil
}

// ResultMap holds what a call or a task answers per host. Whatever is not an
// object of results (null, "", []) is no result yet.
type ResultMap map[string]HostResult

// UnmarshalJSON never fails.
func (m *ResultMap) UnmarshalJSON(raw []byte) error {
	var results map[string]HostResult
	if err := json.Unmarshal(raw, &results); err != nil {
		results = nil
	}
	*m = results
	return nil
}

// Keys are those under which a result map may hold a host, the likeliest first.
// They are built for the host and looked up. A key of the platform is never taken
// apart: an IPv6 address, a Windows path or a name may hold the separator.
type Keys func(fleet.Host) []string

func (m ResultMap) find(keys []string) (HostResult, bool) {
	for _, key := range keys {
		if result, found := m[key]; found {
			return result, true
		}
	}
	return HostResult{}, false
}
