package hostedspec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	json "github.com/go-json-experiment/json/v1"
)

// The lines that the scripts print. A shell profile may print before and after them, even on the same line.
const (
	mark            = "bk-hosted "
	markBegin       = mark + "begin"
	markEnd         = mark + "end"
	markMissing     = mark + "missing"
	markNoDirectory = mark + "no-directory"
	markUnreadable  = mark + "unreadable"
)

// MaxBytes is the size of the largest output that is parsed. Ten thousand entries take about half of it.
const MaxBytes = 16 << 20

// Whole reports whether an output is complete. If it is not, more may follow.
func Whole(output string) bool {
	found, _ := find(output)
	return found == markEnd || found != "" && found != markBegin
}

// find returns the line that says how to take an output: markBegin if the end is missing, "" if there is no
// such line. body is the text between begin and end.
func find(output string) (found, body string) {
	begun := false
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		switch {
		case begun && line == markEnd:
			return markEnd, strings.Join(lines, "")
		case begun:
			lines = append(lines, line)
		case strings.HasSuffix(line, markBegin):
			begun = true
		default:
			for _, alone := range []string{markMissing, markNoDirectory, markUnreadable} {
				if strings.HasSuffix(line, alone) {
					return alone, ""
				}
			}
		}
	}
	if begun {
		return markBegin, ""
	}
	return "", ""
}

// Parse parses the output of a script.
func Parse(output string) Reading {
	if len(output) > MaxBytes {
		return Reading{Why: fmt.Sprintf("what the script printed is longer than %d MiB", MaxBytes>>20)}
	}
	found, body := find(output)
	switch found {
	case markEnd:
		return parse(body)
	case markMissing:
		return Reading{}
	case markNoDirectory:
		return Reading{Why: "the agent's directory is not there: hosted_specs has another path than this agent"}
	case markUnreadable:
		return Reading{Why: "the account that the script ran as cannot read the agent's file"}
	case markBegin:
		return Reading{Why: "what the script printed was cut off"}
	}
	return Reading{Why: "the script printed nothing that it should"}
}

// parse parses the content of the file.
func parse(text string) Reading {
	if strings.TrimSpace(text) == "" {
		return Reading{Why: "the agent's file is empty"}
	}
	_, object, _ := strings.Cut(text, "{")
	if entries, read := parseAtOnce("{" + object); read {
		return Reading{Entries: entries}
	}
	var file struct {
		Proc json.RawMessage `json:"proc"`
	}
	if err := json.NewDecoder(strings.NewReader("{" + object)).Decode(&file); err != nil {
		return Reading{Why: "the agent's file is no JSON, or was being written"}
	}
	if file.Proc == nil {
		return Reading{Why: "the agent's file has no list of processes"}
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(file.Proc, &rows); err != nil {
		return Reading{Why: "the agent's file has a list of processes of an unknown form"}
	}
	entries := make([]Entry, len(rows))
	for i, raw := range rows {
		var known bool
		if entries[i], known = parseEntry(raw); !known {
			return Reading{Why: "the agent's file has an entry without a readable name: " + entries[i].Why}
		}
	}
	return Reading{Entries: entries}
}

// atOnce are the options of [json.Unmarshal] with two exceptions. The syntax is not checked in a pass of its
// own. The last of duplicate members replaces the others, and is not merged with them.
var atOnce = jsonv2.JoinOptions(json.DefaultOptionsV1(), json.ReportErrorsWithLegacySemantics(false), json.MergeWithLegacySemantics(false))

// parseAtOnce parses a file in one pass if every entry can be parsed, as is usual. parse takes any other
// file, and four passes. Of two lists, both take the last one.
func parseAtOnce(object string) (entries []Entry, read bool) {
	var file struct {
		Proc []row `json:"proc"`
	}
	if jsonv2.Unmarshal([]byte(object), &file, atOnce) != nil || file.Proc == nil || slices.ContainsFunc(file.Proc, row.mangled) {
		return nil, false
	}
	entries = make([]Entry, len(file.Proc))
	for i, r := range file.Proc {
		entries[i] = r.entry()
	}
	return entries, true
}

// parseEntry parses an element of proc. One that cannot be parsed does not affect the others. known reports
// whether its name could be read.
func parseEntry(raw json.RawMessage) (e Entry, known bool) {
	var r, name row
	switch err := json.Unmarshal(raw, &r); {
	case err != nil:
		var keys struct {
			Contact  string `json:"contact"`
			ValueKey string `json:"valuekey"`
		}
		err = json.Unmarshal(raw, &keys)
		name, known = row{Contact: keys.Contact, ValueKey: keys.ValueKey}, err == nil
		e.Why = "its entry in the agent's file has a value of an unknown form"
	case r.mangled():
		name, known = row{Contact: r.Contact, ValueKey: r.ValueKey}, true
		e.Why = "its entry in the agent's file has text that is not UTF-8"
	default:
		return r.entry(), true
	}
	named := name.entry()
	e.Namespace, e.Name = named.Namespace, named.Name
	return e, known && named.Name != "" && !name.mangled()
}

// row is an element of proc. Its numbers may be strings.
type row struct {
	Contact   string `json:"contact"`
	ValueKey  string `json:"valuekey"`
	ProcName  string `json:"procName"`
	SetupPath string `json:"setupPath"`
	PIDPath   string `json:"pidPath"`
	User      string `json:"user"`

	StartCmd   string `json:"startCmd"`
	StopCmd    string `json:"stopCmd"`
	RestartCmd string `json:"restartCmd"`
	ReloadCmd  string `json:"reloadCmd"`
	KillCmd    string `json:"killCmd"`
	VersionCmd string `json:"versionCmd"`
	HealthCmd  string `json:"healthCmd"`

	Type                kind   `json:"type"`
	CPULmt              number `json:"cpulmt"`
	MemLmt              number `json:"memlmt"`
	StartCheckBeginTime whole  `json:"startCheckBeginTime"`
	OpTimeOut           whole  `json:"opTimeOut"`
	OperateType         whole  `json:"operateType"`
	Timestamp           whole  `json:"timestamp"`
}

// mangled reports whether a text has lost characters: what is not UTF-8 was replaced while decoding.
func (r row) mangled() bool {
	return slices.ContainsFunc([]string{
		r.Contact, r.ValueKey, r.ProcName, r.SetupPath, r.PIDPath, r.User,
		r.StartCmd, r.StopCmd, r.RestartCmd, r.ReloadCmd, r.KillCmd, r.VersionCmd, r.HealthCmd,
	}, func(text string) bool { return strings.ContainsRune(text, utf8.RuneError) })
}

// entry returns the row as an Entry. The key is split after contact, the namespace, which may contain a
// colon.
func (r row) entry() Entry {
	namespace := r.Contact
	name, found := strings.CutPrefix(r.ValueKey, r.Contact+":")
	if r.Contact == "" || !found {
		if namespace, name, found = strings.Cut(r.ValueKey, ":"); !found {
			namespace, name = r.Contact, r.ValueKey
		}
	}
	return Entry{
		Namespace: namespace, Name: name,
		ProcName: r.ProcName, SetupPath: r.SetupPath, PIDPath: r.PIDPath, User: r.User,
		StartCmd: r.StartCmd, StopCmd: r.StopCmd, RestartCmd: r.RestartCmd, ReloadCmd: r.ReloadCmd,
		KillCmd: r.KillCmd, VersionCmd: r.VersionCmd, HealthCmd: r.HealthCmd,
		AutoType: int64(r.Type.whole), HasAutoType: r.Type.known, CPU: float64(r.CPULmt), Mem: float64(r.MemLmt),
		StartCheckSecs: int64(r.StartCheckBeginTime), OpTimeout: int64(r.OpTimeOut),
		LastOperation: int64(r.OperateType), WrittenAt: int64(r.Timestamp),
	}
}

// number is a JSON number, or a string that holds one. null and a blank string are 0.
type number float64

// UnmarshalJSON fails for any other value, because a limit that cannot be read is not 0.
func (n *number) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `" `)
	if text == "" || text == "null" {
		*n = 0
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return fmt.Errorf("%d bytes are no number", len(raw))
	}
	*n = number(value)
	return nil
}

// whole is a number without a fraction.
type whole int64

// UnmarshalJSON fails for any other value.
func (w *whole) UnmarshalJSON(raw []byte) error {
	var n number
	if err := n.UnmarshalJSON(raw); err != nil {
		return err
	}
	if float64(n) != math.Trunc(float64(n)) || math.Abs(float64(n)) > 1<<53 {
		return fmt.Errorf("%d bytes are no whole number", len(raw))
	}
	*w = whole(n)
	return nil
}

// kind is a whole number that may be missing, which is different from 0.
type kind struct {
	whole
	known bool
}

// UnmarshalJSON fails for anything but a whole number or none.
func (k *kind) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `" `)
	k.known = text != "" && text != "null"
	return k.whole.UnmarshalJSON(raw)
}
