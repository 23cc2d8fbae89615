package core

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// The scripts that read what an agent hosts, as clients send them. The simulator runs no others.
var (
	//go:embed read_hosted.sh
	shellScript string
	//go:embed read_hosted.ps1
	powerShellScript string
)

// printScript matches how BSCP and GSEKit read the file, including its secrets.
var printScript = regexp.MustCompile(`^\s*(?:#!\S+[ \t]*\n\s*)?(?:@echo off\s+)?(cat|type)\s+(\S+[\\/]\.proc)\s*$`)

// Script is a script that reads the file of an agent.
type Script struct {
	kind scriptKind
	path string
	// read and printed cache the last file and its output: many hosts have the same.
	read, printed string
}

type scriptKind int

const (
	scriptShell scriptKind = iota
	scriptPowerShell
	scriptCat
	scriptType
)

// NewScript recognizes a script by its text. Its only argument is the file that it reads, unless
// the text names it.
func NewScript(text string, args []string) (*Script, error) {
	if found := printScript.FindStringSubmatch(text); found != nil {
		kind := map[string]scriptKind{"cat": scriptCat, "type": scriptType}[found[1]]
		return &Script{kind: kind, path: found[2]}, nil
	}
	kind, known := map[string]scriptKind{shellScript: scriptShell, powerShellScript: scriptPowerShell}[text]
	switch {
	case !known:
		return nil, errors.New("the simulator runs no script but the one that reads what an agent hosts, and cat or type of a .proc")
	case len(args) != 1:
		return nil, fmt.Errorf("the script has %d arguments, want the file that it reads", len(args))
	}
	return &Script{kind: kind, path: args[0]}, nil
}

// Language returns JOB's number of the script's language.
func (s *Script) Language() int {
	return map[scriptKind]int{scriptShell: 1, scriptCat: 1, scriptType: 2, scriptPowerShell: 5}[s.kind]
}

// Screen is a script's output, and its exit code.
type Screen struct {
	Text string
	Exit int
}

// runScriptLocked returns the output of a script on a machine.
func (g *GSE) runScriptLocked(s *Script, machine HostKey) Screen {
	f := g.procFileLocked(machine)
	screen := s.run(f)
	screen.Text = f.before + screen.Text + f.after
	if !utf8.ValidString(screen.Text) {
		// Bytes that are not UTF-8 are replaced on the way through the platform.
		screen.Text = string([]rune(screen.Text))
	}
	return screen
}

func (s *Script) run(f procFile) Screen {
	windows := onWindows(f.path)
	if windows != (s.kind == scriptPowerShell || s.kind == scriptType) {
		return Screen{"command not found\n", 127}
	}
	state := f.state
	switch {
	case samePath(s.path, f.path):
	case samePath(folderOf(s.path), folderOf(f.path)):
		state = fileMissing
	default:
		state = folderMissing
	}
	if s.kind == scriptCat || s.kind == scriptType {
		return printFile(s, state, f.text)
	}
	newline := "\n"
	if windows {
		newline = "\r\n"
	}
	lines := []string{"bk-hosted begin", "", "bk-hosted end", ""}
	switch {
	case state != fileThere:
		lines = []string{"bk-hosted " + string(state), ""}
	case windows:
		lines[1] = escapeText(s.filtered(f.text))
	default:
		lines[1] = s.filtered(f.text)
	}
	return Screen{Text: strings.Join(lines, newline)}
}

func (s *Script) filtered(text string) string {
	if text != s.read {
		s.read, s.printed = text, filterFile(text)
	}
	return s.printed
}

// printFile returns the output of cat, or of type on Windows.
func printFile(s *Script, state fileState, text string) Screen {
	switch {
	case state == fileThere:
		return Screen{Text: text}
	case s.kind == scriptType:
		return Screen{"The system cannot find the file specified.\r\n", 1}
	case state == fileUnreadable:
		return Screen{"cat: " + s.path + ": Permission denied\n", 1}
	}
	return Screen{"cat: " + s.path + ": No such file or directory\n", 1}
}

var drive = regexp.MustCompile(`^[A-Za-z]:`)

func onWindows(file string) bool { return drive.MatchString(file) }

func folderOf(file string) string { return path.Dir(strings.ReplaceAll(file, `\`, "/")) }

// samePath compares two paths as their operating system does.
func samePath(a, b string) bool {
	if onWindows(a) && onWindows(b) {
		return strings.EqualFold(path.Clean(strings.ReplaceAll(a, `\`, "/")), path.Clean(strings.ReplaceAll(b, `\`, "/")))
	}
	return path.Clean(a) == path.Clean(b)
}

// printed are the keys whose values the script prints.
var printed = func() map[string]bool {
	_, list, _ := strings.Cut(shellScript, `split("`)
	list, _, _ = strings.Cut(list, `"`)
	keys := make(map[string]bool)
	for key := range strings.FieldsSeq(list) {
		keys[key] = true
	}
	return keys
}()

// marks are the characters of a file outside strings and literals.
const marks = "[]{}:, \t"

var noLines = strings.NewReplacer("\x00", "", "\r", "", "\n", "")

// filterFile returns the script's output for a file: brackets, commas, colons, and the values of known
// keys. It scans the file as the script does, from quote to quote.
func filterFile(text string) string {
	text = noLines.Replace(text)
	records := strings.Split(text, `"`)
	if last := len(records) - 1; records[last] == "" {
		records = records[:last]
	}
	var out bytes.Buffer
	out.Grow(len(text))
	inside, pending := false, false
	kept, key := "", ""
	for _, record := range records {
		if inside {
			kept += record
			if backslashes := len(record) - len(strings.TrimRight(record, `\`)); backslashes%2 == 1 {
				kept += `"`
				continue
			}
			inside, pending = false, true
			continue
		}
		switch {
		case pending && strings.HasPrefix(strings.TrimLeft(record, " \t"), ":"):
			key = ""
			if printed[kept] {
				key = kept
			}
			name := key
			if name == "" {
				name = "-"
			}
			out.WriteString(`"` + name + `"`)
		case pending && key == "":
			out.WriteString(`""`)
		case pending:
			out.WriteString(`"` + kept + `"`)
			key = ""
		}
		if key != "" { // so the record begins with a colon
			_, value, _ := strings.Cut(record, ":")
			value = strings.TrimLeft(value, " \t")
			rest := strings.TrimLeftFunc(value, func(r rune) bool { return !strings.ContainsRune(marks, r) })
			out.WriteString(record[:len(record)-len(rest)])
			if record = rest; value != "" {
				key = ""
			}
		}
		blank(&out, record)
		kept, pending, inside = "", false, true
	}
	return out.String()
}

// blank writes a text, with each run of characters other than marks replaced by 0.
func blank(out *bytes.Buffer, text string) {
	run := false
	for i := range len(text) {
		if strings.IndexByte(marks, text[i]) < 0 {
			if !run {
				out.WriteByte('0')
			}
			run = true
			continue
		}
		run = false
		out.WriteByte(text[i])
	}
}

// escapeText writes what is not ASCII in JSON's escapes, as the script for Windows does.
func escapeText(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r >= ' ' && r < 0x7f:
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// ScriptResult is the state of a script on one host in one answer.
type ScriptResult struct {
	Result
	Screen Screen
	// Status is how the script ended, 0 if it ended by itself.
	Status int
	// Running says that the host has no verdict yet. Its screen may have part of the output.
	Running bool
	// Answers is how many answers included the host, with this one.
	Answers    int
	Start, End time.Time
}

// PollScript returns the results of a script's task on some hosts, or on all if hosts is nil. They are
// nil while the task is queued.
func (g *GSE) PollScript(api, id string, hosts []Target) (results []ScriptResult, data any, queued bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	t := g.tasks[id]
	if t == nil || t.items[0].Script == nil {
		if g.ExpiredEmpty {
			return []ScriptResult{}, nil, false
		}
		return nil, nil, true
	}
	t.polls++
	g.applyTaskFaultsLocked(t, api)
	if countdown(&t.queued) {
		return nil, t.data, true
	}
	results = []ScriptResult{}
	for _, o := range t.on(hosts) {
		g.applyFaultsLocked(o, api, true)
		if r, there := g.reportLocked(o); there {
			o.answers++
			results = append(results, o.script(r))
		}
	}
	return results, nil, false
}

// ScriptLog returns what a script's task has printed on some hosts so far, and false if there is no such
// task. It does not count as a poll.
func (g *GSE) ScriptLog(id string, hosts []Target) ([]ScriptResult, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	t := g.tasks[id]
	if t == nil || t.items[0].Script == nil {
		return nil, false
	}
	var results []ScriptResult
	for _, o := range t.on(hosts) {
		seen := *o // only polls count down
		if r, there := g.reportLocked(&seen); there {
			results = append(results, o.script(r))
		}
	}
	return results, true
}

// on returns a task's operations on some hosts, in their order, or all if hosts is nil.
func (t *task) on(hosts []Target) []*operation {
	if hosts == nil {
		return t.entries
	}
	if t.byHost == nil {
		t.byHost = make(map[HostKey]*operation, len(t.entries))
		for _, o := range t.entries {
			t.byHost[o.target.Key] = o
		}
	}
	var entries []*operation
	for _, host := range hosts {
		if o := t.byHost[host.Key]; o != nil {
			entries = append(entries, o)
		}
	}
	return entries
}

func (o *operation) script(r Result) ScriptResult {
	result := ScriptResult{Result: r, Running: r.Code == CodePending, Answers: o.answers, Start: o.accepted}
	switch content := o.verdict.content.(type) {
	case Screen:
		result.Screen = content
	case string:
		result.Screen.Text = content
	}
	if text, replaced := o.instead.Content.(string); replaced {
		result.Screen = Screen{Text: text}
	}
	if !result.Running {
		result.End, result.Status = o.settled, o.scriptStatus
	}
	if !result.Running && result.Status == 0 {
		return result
	}
	// A script that has not finished has printed part of its output.
	result.Screen = Screen{Text: result.Screen.Page(0, len(result.Screen.Text)/2)}
	return result
}

// Page returns at most limit bytes of a screen from a byte offset, 0 for all. It splits no character.
func (s Screen) Page(offset, limit int) string {
	if offset < 0 || offset >= len(s.Text) {
		return ""
	}
	rest := s.Text[offset:]
	if limit <= 0 || limit >= len(rest) {
		return rest
	}
	for limit > 1 && !utf8.RuneStart(rest[limit]) {
		limit--
	}
	return rest[:limit]
}
