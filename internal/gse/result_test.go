package gse

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

func TestHostResult(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		raw     string
		code    int64
		message string
		content string
	}{
		"documented":        {`{"error_code":0,"error_msg":"success","content":"x"}`, 0, "success", `"x"`},
		"english-document":  {`{"errcode":829,"errmsg":"not running","content":""}`, 829, "not running", `""`},
		"both-spellings":    {`{"error_code":0,"errcode":1,"error_msg":"a","errmsg":"b"}`, 0, "a", ""},
		"mixed-spellings":   {`{"error_code":115,"errmsg":"b"}`, 115, "b", ""},
		"second-is-read":    {`{"error_code":"","errcode":"828"}`, 828, "", ""},
		"text-code":         {`{"error_code":"65535","error_msg":"boom"}`, 65535, "boom", ""},
		"text-zero":         {`{"error_code":"0"}`, 0, "", ""},
		"negative":          {`{"error_code":-1}`, -1, "", ""},
		"float":             {`{"error_code":836.0}`, 836, "", ""},
		"message-not-text":  {`{"error_code":1,"error_msg":{"a":1}}`, 1, `{"a":1}`, ""},
		"message-null":      {`{"error_code":1,"error_msg":null}`, 1, "", ""},
		"message-odd-bytes": {"{\"error_code\":1,\"error_msg\":\"\xd6\xd0\"}", 1, "\uFFFD\uFFFD", ""},
		"content-object":    {`{"error_code":0,"content":{"process":[]}}`, 0, "", `{"process":[]}`},
		"content-null":      {`{"error_code":0,"content":null}`, 0, "", "null"},
		"more-members":      {`{"error_code":0,"bk_agent_id":"","error_msg":"ok"}`, 0, "ok", ""},

		"no-code":         {`{"error_msg":"success"}`, -1, `a result without a code: {"error_msg":"success"}`, ""},
		"code-null":       {`{"error_code":null}`, -1, `a result without a code: {"error_code":null}`, ""},
		"code-word":       {`{"error_code":"ok"}`, -1, `a result without a code: {"error_code":"ok"}`, ""},
		"code-true":       {`{"error_code":true}`, -1, `a result without a code: {"error_code":true}`, ""},
		"code-not-finite": {`{"error_code":"inf"}`, -1, `a result without a code: {"error_code":"inf"}`, ""},
		"empty-object":    {`{}`, -1, `a result without a code: {}`, ""},
		"null":            {`null`, -1, `a result without a code: null`, ""},
		"text":            {`"gone"`, -1, `unreadable result: "gone"`, ""},
		"number":          {`0`, -1, `unreadable result: 0`, ""},
		"list":            {`[{"error_code":0}]`, -1, `unreadable result: [{"error_code":0}]`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answers resultMap
			if err := json.Unmarshal([]byte(`{"k":`+test.raw+`}`), &answers); err != nil {
				t.Fatal(err)
			}
			got := answers["k"]
			if got.code != test.code || got.message != test.message || string(got.content) != test.content {
				t.Errorf("got %d, %q, %q", got.code, got.message, got.content)
			}
		})
	}
}

// One host's oddity does not cost the others their verdicts.
func TestResultMap(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"null", `""`, "[]", "7", `[{"error_code":0}]`, "true"} {
		answers := resultMap{"old": {}}
		if err := json.Unmarshal([]byte(raw), &answers); err != nil || len(answers) > 0 {
			t.Errorf("%s: got %v, %v, want no result", raw, answers, err)
		}
	}
	var answers resultMap
	if err := json.Unmarshal([]byte(`{"a":"odd","b":{"error_code":0},"b":{"error_code":117}}`), &answers); err != nil {
		t.Fatal(err)
	}
	if answers["a"].code != -1 || answers["b"].code != 117 {
		t.Errorf("got %v, want a to be unreadable, and of two answers for b the last", answers)
	}
}

func FuzzHostResult(f *testing.F) {
	for _, seed := range []string{
		`{"error_code":0,"error_msg":"success","content":""}`, `{"errcode":"115","errmsg":null}`, `{"error_code":1e999}`,
		`{"error_code":"nan"}`, `null`, `[]`, `{"error_code":{},"content":{"a":[1]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			t.Skip()
		}
		var r hostResult
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		for _, op := range []fleet.Operation{fleet.Start, fleet.Stop, query, fleet.HostIt} {
			o, final := callOf(op, nil).outcome(r)
			if final == (o.Verdict == fleet.Pending) {
				t.Errorf("%s of %s: final %t, verdict %d", op, raw, final, o.Verdict)
			}
			if o.OK() && !strings.ContainsAny(string(raw), "0123456789") {
				t.Errorf("%s of %s is a success without a code", op, raw)
			}
		}
	})
}

// Every code for every call. Codes that are not listed fail.
func TestCall_outcome(t *testing.T) {
	t.Parallel()
	const (
		ok      = "done"
		already = "already done"
		pending = "pending"
		taken   = "taken"
		failed  = "failed"
	)
	oneShot := &Spec{MonitorPolicy: MonitorPolicy{AutoType: AutoOneShot}}
	tests := map[string]struct {
		call   call
		except map[int64]string
	}{
		"register":          {callRegister, map[int64]string{850: taken}},
		"update":            {callUpdate, nil},
		"unregister":        {callUnregister, map[int64]string{829: already}},
		"start":             {callOf(fleet.Start, sampleSpec()), map[int64]string{828: already}},
		"start-one-shot":    {callOf(fleet.Start, oneShot), map[int64]string{828: already, 836: ok}},
		"start-periodic":    {callOf(fleet.Start, minimalSpec()), map[int64]string{828: already}},
		"start-no-spec":     {callOf(fleet.Start, nil), map[int64]string{828: already}},
		"stop":              {callOf(fleet.Stop, sampleSpec()), map[int64]string{829: already}},
		"stop-one-shot":     {callOf(fleet.Stop, oneShot), map[int64]string{829: already}},
		"kill":              {callOf(fleet.Kill, sampleSpec()), map[int64]string{829: already}},
		"unhost":            {callOf(fleet.Unhost, sampleSpec()), map[int64]string{829: already}},
		"host":              {callOf(fleet.HostIt, sampleSpec()), map[int64]string{850: already}},
		"restart":           {callOf(fleet.Restart, sampleSpec()), nil},
		"restart-one-shot":  {callOf(fleet.Restart, oneShot), nil},
		"reload":            {callOf(fleet.Reload, sampleSpec()), nil},
		"query":             {callOf(query, sampleSpec()), nil},
		"query-of-one-shot": {callOf(query, oneShot), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, code := range []int64{0, 1, -1, 115, 117, 126, 828, 829, 832, 836, 850, 851, 1000115, 1015012, 65535} {
				want := failed
				switch code {
				case 0:
					want = ok
				case 115:
					want = pending
				}
				if other, listed := test.except[code]; listed {
					want = other
				}
				o, final := test.call.outcome(hostResult{code: code, message: "words"})
				got := map[bool]map[fleet.Verdict]string{
					false: {fleet.Done: ok, fleet.Failed: failed, fleet.Pending: pending},
					true:  {fleet.Done: already, fleet.Failed: taken},
				}[o.AlreadyDone][o.Verdict]
				if got != want || final != (want != pending) || o.Code != code || o.Message != "words" {
					t.Errorf("%d: got %q (%+v, final %t), want %q", code, got, o, final, want)
				}
			}
		})
	}
}

func TestMeaning(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code    int64
		message string
		want    string
	}{
		"success":         {0, "success", ""},
		"unknown":         {-1, "", ""},
		"start-check":     {836, "start check failed", "the process was not running when the start was checked"},
		"stop-check":      {836, " Stop check failed", "the process was still running when the stop was checked"},
		"check-unsaid":    {836, "", "the process was not running when the start was checked"},
		"in-progress":     {115, "", "still in progress"},
		"agent":           {117, "", "the agent is abnormal or not found"},
		"terminated":      {126, "", "the task was terminated"},
		"running":         {828, "", "the process is running already"},
		"not-running":     {829, "", "the process is not running"},
		"illegal":         {832, "", "the platform does not know this operation"},
		"registered":      {850, "", "the process is registered already"},
		"stopping":        {1015012, "", "the process is being stopped"},
		"command":         {65535, "stop: not found", "the command failed"},
		"queued-envelope": {1000115, "", ""}, // never a host's
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Meaning(test.code, test.message); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Keys are built, never taken apart: their parts may hold the separator.
func TestKeys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		host   string
		meta   Meta
		v1, v2 string
	}{
		"documented": {"1:2:10.0.0.1", sampleMeta, "1:2:10.0.0.1:gse:proc-test", "1:10.0.0.1:gse:proc-test"},
		"ipv6":       {"0:2001:DB8::0:1", sampleMeta, "0:0:2001:db8::1:gse:proc-test", "0:2001:db8::1:gse:proc-test"},
		"separators": {"0:10.0.0.1", Meta{Namespace: "a:b", Name: "c:d"}, "0:0:10.0.0.1:a:b:c:d", "0:10.0.0.1:a:b:c:d"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := fleet.ParseHost(test.host, 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{test.v1, test.v2}, []string{keyV1(h, test.meta), keyV2(h, test.meta)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A command's output is kept whole; the provider decides how much of it to show.
func TestCall_outcome_keepsOutput(t *testing.T) {
	t.Parallel()
	output := fmt.Sprintf("line 1\n%s\nlast line", strings.Repeat("x", 5000))
	if o, _ := callOf(fleet.Start, nil).outcome(hostResult{code: CodeCommandFailed, message: output}); o.Message != output {
		t.Errorf("got %d bytes of %d", len(o.Message), len(output))
	}
}
