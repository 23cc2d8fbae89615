package procapi

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

func TestHostResult(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		raw     string
		code    int64
		message string
		content string
	}{
		"documented":        {`{"error_code":0,"error_msg":"success","content":"x"}`, 0, "success", "x"},
		"english-document":  {`{"errcode":829,"errmsg":"not running","content":""}`, 829, "not running", ""},
		"both-spellings":    {`{"error_code":0,"errcode":1,"error_msg":"a","errmsg":"b"}`, 1, "a", ""},
		"both-and-first":    {`{"error_code":1,"errcode":0,"error_msg":"a","errmsg":"b"}`, 1, "a", ""},
		"nearly-success":    {`{"error_code":0.5}`, -1, `a result without a code: {"error_code":0.5}`, ""},
		"below-success":     {`{"error_code":"-0.9"}`, -1, `a result without a code: {"error_code":"-0.9"}`, ""},
		"too-small-to-read": {`{"error_code":1e-400}`, -1, `a result without a code: {"error_code":1e-400}`, ""},
		"hexadecimal":       {`{"error_code":"0x0p0"}`, -1, `a result without a code: {"error_code":"0x0p0"}`, ""},
		"zero-as-a-float":   {`{"error_code":0.0}`, 0, "", ""},
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
		"content-null":      {`{"error_code":0,"content":null}`, 0, "", ""},
		"more-members":      {`{"error_code":0,"bk_agent_id":"","error_msg":"ok"}`, 0, "ok", ""},

		"no-code":         {`{"error_msg":"success"}`, -1, `a result without a code: {"error_msg":"success"}`, ""},
		"code-null":       {`{"error_code":null}`, -1, `a result without a code: {"error_code":null}`, ""},
		"code-word":       {`{"error_code":"ok"}`, -1, `a result without a code: {"error_code":"ok"}`, ""},
		"code-true":       {`{"error_code":true}`, -1, `a result without a code: {"error_code":true}`, ""},
		"code-not-finite": {`{"error_code":"inf"}`, -1, `a result without a code: {"error_code":"inf"}`, ""},
		"text":            {`"gone"`, -1, `unreadable result: "gone"`, ""},
		"number":          {`0`, -1, `unreadable result: 0`, ""},
		"list":            {`[{"error_code":0}]`, -1, `unreadable result: [{"error_code":0}]`, ""},
	} {
		var answers ResultMap
		if err := json.Unmarshal([]byte(`{"k":`+test.raw+`}`), &answers); err != nil {
			t.Fatal(name, err)
		}
		got := answers["k"]
		if got.Code != test.code || got.Message != test.message || got.Content != test.content {
			t.Errorf("%s: got %d, %q, %q", name, got.Code, got.Message, got.Content)
		}
	}
}

// An unusual result of one host does not affect the verdicts of the others.
func TestResultMap(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"null", `""`, "[]", "7", `[{"error_code":0}]`, "true"} {
		answers := ResultMap{"old": {}}
		if err := json.Unmarshal([]byte(raw), &answers); err != nil || len(answers) > 0 {
			t.Errorf("%s: got %v, %v, want no result", raw, answers, err)
		}
	}
	var answers ResultMap
	procapitest.NoError(t, json.Unmarshal([]byte(`{"a":"odd","b":{"error_code":0},"b":{"error_code":117}}`), &answers))
	if answers["a"].Code != -1 || answers["b"].Code != 117 {
		t.Errorf("got %v, want a to be unreadable, and of two answers for b the last", answers)
	}
}

// A host without a result is missing, so the client asks again.
func TestResultMap_silence(t *testing.T) {
	t.Parallel()
	var answers ResultMap
	procapitest.NoError(t, json.Unmarshal([]byte(`{"a":null,"b":{},"c":{"error_code":0},"d":{"error_msg":"x"}}`), &answers))
	for key, want := range map[string]bool{"a": false, "b": false, "c": true, "d": true} {
		if _, found := answers[key]; found != want {
			t.Errorf("%s: found %t, want %t", key, found, want)
		}
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
		var r HostResult
		procapitest.NoError(t, json.Unmarshal(raw, &r))
		for _, op := range []fleet.Operation{fleet.Start, fleet.Stop, Query, fleet.Supervise} {
			o, final := CallOf(op, false).Outcome(r)
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
//
// Promised in compared.md: Start of a process that runs (828) | success |.
func TestCall_outcome(t *testing.T) {
	t.Parallel()
	const (
		ok      = "done"
		already = "already done"
		pending = "pending"
		taken   = "taken"
		failed  = "failed"
	)
	for name, test := range map[string]struct {
		call   Call
		except map[int64]string
	}{
		"register":          {Call{ConflictCodes: []int64{CodeRegistered}}, map[int64]string{850: taken}},
		"update":            {Call{}, nil},
		"unregister":        {Call{SuccessCodes: []int64{CodeNotRunning}}, map[int64]string{829: already}},
		"start":             {CallOf(fleet.Start, false), map[int64]string{828: already}},
		"start-one-shot":    {CallOf(fleet.Start, true), map[int64]string{828: already, 836: ok}},
		"stop":              {CallOf(fleet.Stop, false), map[int64]string{829: already}},
		"stop-one-shot":     {CallOf(fleet.Stop, true), map[int64]string{829: already}},
		"kill":              {CallOf(fleet.Kill, false), map[int64]string{829: already}},
		"unhost":            {CallOf(fleet.Unsupervise, false), map[int64]string{829: already}},
		"host":              {CallOf(fleet.Supervise, false), map[int64]string{850: already}},
		"restart":           {CallOf(fleet.Restart, false), nil},
		"reload":            {CallOf(fleet.Reload, false), nil},
		"query":             {CallOf(Query, false), nil},
		"query-of-one-shot": {CallOf(Query, true), nil},
	} {
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
			o, final := test.call.Outcome(HostResult{Code: code, Message: "words"})
			got := map[bool]map[fleet.Verdict]string{
				false: {fleet.Done: ok, fleet.Failed: failed, fleet.Pending: pending},
				true:  {fleet.Done: already, fleet.Failed: taken},
			}[o.AlreadyDone][o.Verdict]
			if got != want || final != (want != pending) || o.Code != code || o.Message != "words" {
				t.Errorf("%s: %d: got %q (%+v, final %t), want %q", name, code, got, o, final, want)
			}
			if ran, away := want == failed && (code == 836 || code == 65535), code == 117; o.Ran != ran || o.Away != away {
				t.Errorf("%s: %d: the agent ran it: %t, want %t; it is away: %t, want %t", name, code, o.Ran, ran, o.Away, away)
			}
		}
	}
}

func TestMeaning(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code    int64
		message string
		want    string
	}{
		"success":         {0, "success", ""},
		"unknown":         {-1, "", ""},
		"start-check":     {836, "start check failed", meaningNotStarted},
		"stop-check":      {836, " Stop check failed", "the process was still running when the stop was checked"},
		"check-unsaid":    {836, "", meaningNotStarted},
		"command":         {65535, "stop: not found", "the command failed"},
		"queued-envelope": {1000115, "", ""}, // never the code of a host
	} {
		if got := Meaning(test.code, test.message); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// A command's output is kept whole; the provider decides how much of it to show. An unreadable result is
// not a failure if the call must not be run twice, or leaves a registration behind.
func TestCall_outcome_unreadable(t *testing.T) {
	t.Parallel()
	for op, want := range map[fleet.Operation]fleet.Verdict{
		fleet.Start: fleet.Lost, fleet.Stop: fleet.Lost, fleet.Restart: fleet.Lost, fleet.Reload: fleet.Lost, fleet.Kill: fleet.Lost,
		fleet.Supervise: fleet.Lost, fleet.Unsupervise: fleet.Failed, Query: fleet.Failed,
	} {
		for _, raw := range []string{`"gone"`, `{"error_code":"zero"}`, `{"error_msg":"x"}`} {
			var r HostResult
			procapitest.NoError(t, json.Unmarshal([]byte(raw), &r))
			if o, final := CallOf(op, false).Outcome(r); o.Verdict != want || !final {
				t.Errorf("%s of %s: verdict %d, final %t, want %d", op, raw, o.Verdict, final, want)
			}
		}
		if o, _ := CallOf(op, false).Outcome(HostResult{Code: -1}); o.Verdict != fleet.Failed {
			t.Errorf("%s: verdict %d of the platform's own -1", op, o.Verdict)
		}
	}
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	const abnormal, running = "the agent is abnormal or not found", "the process is running already"
	for name, c := range map[string]struct {
		message, meaning string
		want             bool
	}{
		"small-words":   {"agent abnormal or not found", abnormal, true},
		"case-and-dots": {"Agent abnormal, or not found.", abnormal, true},
		"other-order":   {"process is already running", running, true},
		"first-clause":  {"process already registered", "the process is registered already, owner a", true},
		"empty-clause":  {"", ": 7", false},
		"less":          {"agent not found", abnormal, false},
		"more":          {"agent abnormal or not found: 10.0.0.1", abnormal, false},
		"a-number":      {"process is already running 7", running, false},
		"other-words":   {"handling", "still in progress", false},
		"chinese":       {"进程已在运行", running, false},
		"no-message":    {"", abnormal, false},
		"no-meaning":    {abnormal, "", false},
		"no-words":      {"???", "", false},
	} {
		if got := Repeats(c.message, c.meaning); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// An answer without a labels member differs from one with empty labels.
func TestTexts(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]Texts{
		`{}`:                                   {"old": "value"},
		`{"labels":{"a":"b"}}`:                 {"a": "b"},
		`{"labels":{"a":7,"b":true,"c":null}}`: {"a": "7", "b": "true", "c": ""},
		`{"labels":{}}`:                        {},
		`{"labels":null}`:                      {},
		`{"labels":["a"]}`:                     nil,
		`{"labels":"a"}`:                       nil,
		`{"labels":7}`:                         nil,
		`{"labels":false}`:                     nil,
	} {
		got := struct {
			Labels Texts `json:"labels"`
		}{Texts{"old": "value"}}
		procapitest.NoError(t, json.Unmarshal([]byte(answer), &got))
		procapitest.WantEqual(t, answer, want, got.Labels)
	}
}

// Numbers beyond the range in which float64 has every integer do not overflow.
func TestNumber_Int(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int64{"7": 7, `"7.9"`: 7, "-1": -1, "1e300": 1 << 53, "-1e300": -1 << 53, `""`: 0} {
		var n Number
		if err := json.Unmarshal([]byte(raw), &n); err != nil || n.Int() != want {
			t.Errorf("%s: got %d, %v, want %d", raw, n.Int(), err, want)
		}
	}
}

// Times that differ never become equal. A value that is no time becomes 0.
func TestTime(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Time{
		"7": 7, `"7"`: 7, "7.9": 7, "7e3": 7000, "1795000000000000001": 1795000000000000001, `"1795000000000000001"`: 1795000000000000001,
		"-1": 0, "1e18": 0, "99999999999999999999": 0, `""`: 0, "null": 0, "{}": 0,
	} {
		got := Time(1)
		if err := json.Unmarshal([]byte(raw), &got); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", raw, got, err, want)
		}
	}
}

func TestTaskID(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]TaskID{`"GSETASK:1"`: "GSETASK:1", `12345678901234567890`: "12345678901234567890", `"7"`: "7", `null`: "", `""`: ""} {
		var got struct{ ID TaskID }
		if err := json.Unmarshal([]byte(`{"id":`+raw+`}`), &got); err != nil || got.ID != want {
			t.Errorf("%s: got %q, %v, want %q", raw, got.ID, err, want)
		}
		if text, err := json.Marshal(got.ID); err != nil || string(text) != strconv.Quote(string(want)) {
			t.Errorf("%s goes back as %s, %v", raw, text, err)
		}
	}
	for _, raw := range []string{`{}`, `["T"]`, `true`} {
		if err := json.Unmarshal([]byte(raw), new(TaskID)); err == nil {
			t.Errorf("%s was taken for a task id", raw)
		}
	}
}
