package core

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// An agent keeps what it hosts in a file, .proc. The form of the entries is from public clients, which
// read real files. The file is generated at each read, so it always has what the agent hosts, except for
// changes by hand.

// DefaultProcPath is where the file is, unless the settings say otherwise.
const DefaultProcPath = "/usr/local/gse2_bkte/agent/etc/.proc"

// Each entry contains these secrets, after a quote and a backslash. They must not leave a host.
const (
	SecretPassword = "canary-of-password"
	SecretUserPwd  = "canary-of-user-pwd"
)

// procEntry is one entry, with its members in the order of real files.
type procEntry struct {
	ProcName       string  `json:"procName"`
	SetupPath      string  `json:"setupPath"`
	PIDPath        string  `json:"pidPath"`
	Contact        string  `json:"contact"`
	StartCmd       string  `json:"startCmd"`
	StopCmd        string  `json:"stopCmd"`
	RestartCmd     string  `json:"restartCmd"`
	ReloadCmd      string  `json:"reloadCmd"`
	KillCmd        string  `json:"killCmd"`
	VersionCmd     string  `json:"versionCmd"`
	HealthCmd      string  `json:"healthCmd"`
	Type           int64   `json:"type"`
	CPU            float64 `json:"cpulmt"`
	Mem            float64 `json:"memlmt"`
	User           string  `json:"user"`
	Password       string  `json:"password"`
	UserPwd        string  `json:"userPwd"`
	ValueKey       string  `json:"valuekey"`
	StartCheckSecs int64   `json:"startCheckBeginTime"`
	StartCheckEnd  int64   `json:"startCheckEndTime"`
	OpTimeout      int64   `json:"opTimeOut"`
	OperateType    int     `json:"operateType"`
	Timestamp      int64   `json:"timestamp"`
}

// ProcFile is how the file of one agent differs from the usual form.
type ProcFile struct {
	// Path is where the file is, if not at the platform's usual path. A path with a drive makes the host a
	// Windows host.
	Path string `json:"path,omitempty"`
	// Odd is one of OddFiles, or "" for a file as agents write it.
	Odd string `json:"odd,omitempty"`
	// Text, if non-nil, is the whole file, whatever the agent hosts.
	Text *string `json:"text,omitempty"`
}

// keptFile is the file of one agent as it was changed by hand.
type keptFile struct {
	ProcFile
	// Added are entries that were added by hand, which the platform does not know.
	Added []json.RawMessage `json:"added,omitempty"`
}

// fileState is whether a script finds the file, in the script's own words.
type fileState string

const (
	fileThere      fileState = ""
	fileMissing    fileState = "missing"
	folderMissing  fileState = "no-directory"
	fileUnreadable fileState = "unreadable"
)

// procFile is the file as a script finds it.
type procFile struct {
	path          string
	state         fileState
	text          string
	before, after string // output of the host's login profile
}

// oddFiles are the unusual forms of a file. Each makes the file from its entries.
var oddFiles = map[string]func(f *procFile, entries []json.RawMessage){
	"missing":           func(f *procFile, _ []json.RawMessage) { f.state = fileMissing },
	"missing-directory": func(f *procFile, _ []json.RawMessage) { f.state = folderMissing },
	"unreadable":        func(f *procFile, _ []json.RawMessage) { f.state = fileUnreadable },
	"empty":             func(f *procFile, _ []json.RawMessage) { f.text = "" },
	"no-entries":        func(f *procFile, _ []json.RawMessage) { f.text = `{"proc":[]}` },
	"null":              func(f *procFile, _ []json.RawMessage) { f.text = `{"proc":null}` },
	"other-members":     func(f *procFile, _ []json.RawMessage) { f.text = `{"plugins":[{"name":"x"}],"nested":{"proc":1}}` },
	"command-not-found": func(f *procFile, _ []json.RawMessage) { f.text = "command not found" },
	"not-json":          func(f *procFile, _ []json.RawMessage) { f.text = `{"proc": [ {"valuekey": ] }` },
	"around": func(f *procFile, entries []json.RawMessage) {
		f.text = "agent 2.1.6 [notice] reading\n" + procText(entries) + "done {0}\n"
	},
	"banner": func(f *procFile, entries []json.RawMessage) {
		f.text, f.before, f.after = procText(entries), "Last login: Mon Nov 23 {\"proc\":[]}\n", "logout\n"
	},
	"truncated": func(f *procFile, entries []json.RawMessage) {
		text := procText(entries)
		f.text = text[:len(text)*2/3]
	},
	"twice": func(f *procFile, entries []json.RawMessage) {
		if len(entries) > 0 {
			last := edited(entries[len(entries)-1], map[string]any{"stopCmd": "./stop.sh twice"})
			entries = append(slices.Clone(entries), last)
		}
		f.text = procText(entries)
	},
	"others": func(f *procFile, entries []json.RawMessage) { f.text = procText(append(foreignEntries(3), entries...)) },
	"many": func(f *procFile, entries []json.RawMessage) {
		f.text = procText(append(slices.Clone(thousands()), entries...))
	},
	"unknown-keys": func(f *procFile, entries []json.RawMessage) {
		more := make([]json.RawMessage, len(entries))
		for i, entry := range entries {
			more[i] = edited(entry, map[string]any{"token": SecretPassword, "env": map[string]any{"list": []any{1, nil, SecretUserPwd}}})
		}
		f.text = strings.Replace(procText(more), "{", `{"version":7,"secret":"`+SecretPassword+`",`, 1)
	},
	"gbk": func(f *procFile, entries []json.RawMessage) {
		// A command with the word for start, in that encoding.
		text := procText(append(foreignEntries(1), entries...))
		f.text = strings.ReplaceAll(text, "./start.sh", "./start.sh \xc6\xf4\xb6\xaf")
	},
	"styled": func(f *procFile, entries []json.RawMessage) {
		text := EncodeContent(map[string]any{"proc": entries})
		f.text = strings.ReplaceAll(strings.ReplaceAll(text, `": `, `" : `), "\n", "\r\n")
	},
	"texts": func(f *procFile, entries []json.RawMessage) {
		more := make([]json.RawMessage, len(entries))
		for i, entry := range entries {
			more[i] = textual(entry)
		}
		f.text = procText(more)
	},
}

// OddFiles returns the names of the unusual forms of a file, in alphabetical order.
func OddFiles() []string { return slices.Sorted(maps.Keys(oddFiles)) }

func procText(entries []json.RawMessage) string {
	texts := make([]string, len(entries))
	for i, entry := range entries {
		texts[i] = string(entry)
	}
	return `{"proc":[` + strings.Join(texts, ",\n ") + "]}\n"
}

// edited returns an entry with some members replaced; nil removes one.
func edited(entry json.RawMessage, fields map[string]any) json.RawMessage {
	members := make(map[string]any)
	_ = json.Unmarshal(entry, &members)
	for name, v := range fields {
		if v == nil {
			delete(members, name)
		} else {
			members[name] = v
		}
	}
	return encodeEntry(members)
}

// textual returns an entry with its numbers as texts.
func textual(entry json.RawMessage) json.RawMessage {
	members := make(map[string]any)
	_ = json.Unmarshal(entry, &members)
	for name, v := range members {
		if n, ok := v.(float64); ok {
			members[name] = strconv.FormatFloat(n, 'f', -1, 64)
		}
	}
	return encodeEntry(members)
}

// foreignEntries returns entries of another namespace.
func foreignEntries(count int) []json.RawMessage {
	entries := make([]json.RawMessage, count)
	for i := range entries {
		name := fmt.Sprintf("plugin_%d", i+1)
		entries[i] = encodeEntry(procEntry{
			ProcName: name, SetupPath: "/usr/local/gse2_bkte/plugins/bin", PIDPath: "/var/run/gse2_bkte/" + name + ".pid",
			Contact: "nodeman", StartCmd: "./start.sh " + name, StopCmd: "./stop.sh " + name, Type: autoResident, CPU: 10, Mem: 10, User: "root",
			Password: `"\` + SecretPassword, UserPwd: `:::root@@@"\` + SecretUserPwd, ValueKey: "nodeman:" + name,
			StartCheckSecs: 30, OpTimeout: 60, OperateType: OpRestart, Timestamp: 1754358646,
		})
	}
	return entries
}

var thousands = sync.OnceValue(func() []json.RawMessage { return foreignEntries(10_000) })

func encodeEntry(v any) json.RawMessage { return json.RawMessage(strings.TrimSpace(encodeLine(v))) }

func encodeLine(v any) string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return text.String()
}

func (p *process) entry() json.RawMessage {
	e := procEntry{
		Contact: p.key.Namespace, ValueKey: p.key.Namespace + ":" + p.key.Name,
		Password: `"\` + SecretPassword, OperateType: p.writtenBy, Timestamp: p.writtenAt,
	}
	if sp := p.spec; sp != nil {
		e.ProcName, e.SetupPath, e.PIDPath, e.User = sp.ProcName, sp.SetupPath, sp.pidPath, sp.user
		e.StartCmd, e.StopCmd, e.RestartCmd, e.ReloadCmd = sp.commands["start_cmd"], sp.commands["stop_cmd"], sp.commands["restart_cmd"], sp.commands["reload_cmd"]
		e.KillCmd, e.VersionCmd, e.HealthCmd = sp.commands["kill_cmd"], sp.commands["version_cmd"], sp.commands["health_cmd"]
		e.Type, e.StartCheckSecs, e.OpTimeout = sp.autoType, sp.startCheckSecs, sp.opTimeout
		if sp.cpu != nil {
			e.CPU = *sp.cpu
		}
		if sp.mem != nil {
			e.Mem = *sp.mem
		}
		if sp.job != nil {
			e.Contact, e.ValueKey = sp.job.contact, p.key.Name
		}
	}
	e.UserPwd = ":::" + e.User + `@@@"\` + SecretUserPwd
	if len(p.byHand) > 0 {
		return edited(encodeEntry(e), p.byHand)
	}
	return encodeEntry(e)
}

// wroteLocked notes that the agent has written the entry of a process, which replaces changes by hand.
func (g *GSE) wroteLocked(p *process, op int) {
	p.writtenBy, p.writtenAt, p.byHand = op, g.now().Unix(), nil
}

// procFileLocked returns the file of a machine's agent.
func (g *GSE) procFileLocked(machine HostKey) procFile {
	kept := g.procFiles[machine]
	f := procFile{path: cmp.Or(kept.Path, g.ProcPath, DefaultProcPath)}
	if kept.Text != nil {
		f.text = *kept.Text
		return f
	}
	var entries []json.RawMessage
	for _, p := range g.hostedOnLocked(machine) {
		entries = append(entries, p.entry())
	}
	entries = append(entries, kept.Added...)
	switch {
	case kept.Odd != "":
		oddFiles[kept.Odd](&f, entries)
	case len(entries) == 0:
		f.state = fileMissing
	default:
		f.text = procText(entries)
	}
	return f
}

// hostedOnLocked returns the processes that a machine's agent hosts, ordered by namespace and name. A
// process with two names is included once, under the name that hosts it.
func (g *GSE) hostedOnLocked(machine HostKey) []*process {
	if g.status.machines == nil {
		g.status.machines = make(map[HostKey][]ProcKey, len(g.procs))
		for key := range g.procs {
			at := g.machineLocked(key.Host)
			g.status.machines[at] = append(g.status.machines[at], key)
		}
	}
	var hosted []*process
	for _, key := range g.status.machines[machine] {
		p := g.procs[key]
		if p == nil || !p.hosted {
			continue
		}
		same := slices.IndexFunc(hosted, func(other *process) bool { return other.instance == p.instance })
		switch {
		case same < 0:
			hosted = append(hosted, p)
		case p.hosts && (!hosted[same].hosts || p.registerTime > hosted[same].registerTime):
			hosted[same] = p
		}
	}
	slices.SortFunc(hosted, func(a, b *process) int {
		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name))
	})
	return hosted
}

// SetProcFile gives the file of a host's agent an unusual form, or with the zero value the usual one.
// Added entries stay.
func (g *GSE) SetProcFile(addr string, f ProcFile) error {
	if f.Odd != "" && oddFiles[f.Odd] == nil {
		return fmt.Errorf("odd: %q is none of %q", f.Odd, OddFiles())
	}
	machine, err := g.HostKey(addr)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := g.procFiles[machine]
	kept.ProcFile = f
	g.procFiles[machine] = kept
	g.changedLocked()
	return nil
}

// ProcFile returns the file of a host's agent, "" if there is none.
func (g *GSE) ProcFile(addr string) (string, error) {
	machine, err := g.HostKey(addr)
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	f := g.procFileLocked(machine)
	if f.state != fileThere {
		return "", nil
	}
	return f.text, nil
}

// EditProc changes members of an entry by hand, such as "stopCmd"; nil removes one. The next
// operation that writes the entry undoes it.
func (g *GSE) EditProc(addr, namespace, name string, fields map[string]any) error {
	machine, err := g.HostKey(addr)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	for _, p := range g.hostedOnLocked(machine) {
		if p.key.Namespace == namespace && p.key.Name == name {
			byHand := maps.Clone(fields)
			for member, v := range p.byHand {
				if _, again := byHand[member]; !again {
					byHand[member] = v
				}
			}
			p.byHand = byHand
			g.changedLocked()
			return nil
		}
	}
	return fmt.Errorf("%s hosts no process %s:%s", addr, namespace, name)
}

// AddProc adds an entry by hand, a JSON object as in the file. The platform does not know it. Op 4 with
// its namespace and name removes it.
func (g *GSE) AddProc(addr, entry string) error {
	var members map[string]any
	if err := json.Unmarshal([]byte(entry), &members); err != nil || members == nil {
		return errors.New("entry: want a JSON object")
	}
	machine, err := g.HostKey(addr)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := g.procFiles[machine]
	kept.Added = append(kept.Added, json.RawMessage(entry))
	g.procFiles[machine] = kept
	g.changedLocked()
	return nil
}

// dropAddedLocked removes entries that were added by hand, and reports whether there were any.
func (g *GSE) dropAddedLocked(machine HostKey, namespace, name string) bool {
	kept, there := g.procFiles[machine]
	if !there {
		return false
	}
	left := slices.DeleteFunc(slices.Clone(kept.Added), func(entry json.RawMessage) bool {
		var is struct {
			ValueKey string `json:"valuekey"`
		}
		return json.Unmarshal(entry, &is) == nil && is.ValueKey == namespace+":"+name
	})
	dropped := len(left) < len(kept.Added)
	kept.Added = left
	g.procFiles[machine] = kept
	return dropped
}
