package procapi

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		raw  string
		want Texts
	}{
		"texts":   {`{"a":"b"}`, Texts{"a": "b"}},
		"numbers": {`{"a":7,"b":true,"c":null}`, Texts{"a": "7", "b": "true", "c": ""}},
		"empty":   {`{}`, Texts{}},
		"null":    {`null`, Texts{}},
		"list":    {`["a"]`, nil},
		"text":    {`"a"`, nil},
		"number":  {`7`, nil},
		"flag":    {`false`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Texts{"old": "value"}
			if err := json.Unmarshal([]byte(test.raw), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An answer without a labels member means something else than one with empty labels.
func TestTexts_field(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Texts{
		`{}`:                   nil,
		`{"labels":null}`:      {},
		`{"labels":{}}`:        {},
		`{"labels":[]}`:        nil,
		`{"labels":{"a":"b"}}`: {"a": "b"},
	} {
		var got struct {
			Labels Texts `json:"labels"`
		}
		if err := json.Unmarshal([]byte(raw), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
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
