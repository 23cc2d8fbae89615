package core

import (
	"bytes"
	"encoding/json"
	"time"
)

// document is the content of a result before it is encoded. Encoding a thousand of them takes longer than
// the rest of a query, so it is done after the lock is released. A document is a copy and does not change.
type document struct{ v any }

// Text returns the content of a result, and encodes a document.
func (r Result) Text() any {
	if doc, ok := r.content.(document); ok {
		return EncodeContent(doc.v)
	}
	return r.content
}

// EncodeContent returns a JSON document for use as a string, indented as the
// real one is.
func EncodeContent(v any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "   ")
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return buf.String()
}

// controlContentLocked returns the content of start, stop, restart, reload and kill, and at the gateway
// also of hosting and unhosting.
func (g *GSE) controlContentLocked(p *process, it *Item, result string) document {
	type value struct {
		AgentID    string `json:"bk_agent_id,omitempty"` // at the gateway
		FuncID     string `json:"funcID"`
		InstanceID string `json:"instanceID"`
		IsAuto     bool   `json:"isAuto"`
		ProcName   string `json:"procName"`
		Result     string `json:"result"`
		SetupPath  string `json:"setupPath"`
	}
	agentID := ""
	if it.Whole {
		agentID = g.agentIDLocked(p.target)
	}
	return document{map[string][]value{"value": {{
		AgentID:   agentID,
		IsAuto:    p.hosted,
		ProcName:  it.Spec.ProcName,
		Result:    result,
		SetupPath: it.Spec.SetupPath,
	}}}}
}

type queryContent struct {
	AgentID  string         `json:"bk_agent_id,omitempty"`
	IP       string         `json:"ip"`
	Process  []queryProcess `json:"process"`
	Timezone int            `json:"timezone"`
	UTCTime  string         `json:"utctime"`
	UTCTime2 string         `json:"utctime2"`
}

type queryProcess struct {
	Instance []queryInstance `json:"instance"`
	ProcName string          `json:"procname"`
}

type queryInstance struct {
	CmdLine       string  `json:"cmdline"`
	CPUUsage      float64 `json:"cpuUsage"`
	CPUUsageAve   float64 `json:"cpuUsageAve"`
	DiskSize      int64   `json:"diskSize"`
	ElapsedTime   int64   `json:"elapsedTime"`
	FreeVMem      string  `json:"freeVMem"` // in JOB's sample
	Health        string  `json:"health"`
	IsAuto        bool    `json:"isAuto"`
	LastStartTime int64   `json:"last_start_time"`
	PhyMemUsage   float64 `json:"phyMemUsage"`
	PID           int     `json:"pid"` // -1 when not running
	ProcessName   string  `json:"processName"`
	RegisterTime  int64   `json:"register_time"` // 0 when not registered
	ReportTime    int64   `json:"report_time"`
	StartTime     string  `json:"startTime"`
	Stat          string  `json:"stat"`
	STime         string  `json:"stime"`
	ThreadCount   int     `json:"threadCount"`
	UsePhyMem     int64   `json:"usePhyMem"`
	UTime         string  `json:"utime"`
	Version       string  `json:"version"`
}

// queryContentLocked returns the content of a query (op 2). It has an instance even for a process that
// was never started or hosted, as clients have observed. An empty instance list is a failure, not a
// stopped process.
func (g *GSE) queryContentLocked(p *process, it *Item) document {
	now := g.now()
	procName := it.Name
	if it.ByBinary && it.Spec != nil {
		procName = it.Spec.ProcName
	}
	instance := queryInstance{
		FreeVMem:    "0",
		Health:      p.health,
		IsAuto:      p.hosted,
		PID:         -1,
		ProcessName: procName,
		ReportTime:  now.Unix(),
		STime:       "0",
		UTime:       "0",
		Version:     p.version,
	}
	if p.listed() && !g.AgentsWithoutTimes {
		instance.RegisterTime = p.registerTime
		instance.LastStartTime = p.lastStartTime
	}
	if p.running {
		started := time.Unix(p.lastStartTime, 0)
		use := g.usageLocked(p)
		instance.PID = p.pid
		if !g.AgentsWithoutTimes {
			instance.LastStartTime = p.lastStartTime
		}
		instance.StartTime = started.UTC().Format(time.DateTime)
		instance.ElapsedTime = max(0, now.Unix()-p.lastStartTime)
		instance.Stat = "S"
		instance.ThreadCount = 1
		instance.CPUUsage, instance.CPUUsageAve = use.cpu, use.cpu
		instance.PhyMemUsage, instance.UsePhyMem = use.mem, use.rss
		if it.Spec != nil {
			instance.CmdLine = it.Spec.commands["start_cmd"]
		}
	}
	return document{queryContent{
		AgentID:  g.agentIDLocked(p.target),
		IP:       p.target.Spelling,
		Process:  []queryProcess{{Instance: []queryInstance{instance}, ProcName: procName}},
		UTCTime:  now.UTC().Format(time.DateTime),
		UTCTime2: now.UTC().Format(time.DateTime),
	}}
}
