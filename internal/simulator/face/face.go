// Package face implements the dialects of BlueKing's APIs: GSE and CMDB, each behind the ESB and behind the
// API gateway, and JOB. A face checks and reads requests as its documents describe them, translates them
// for the core, and formats the answer as its platform does.
package face

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// Face is one dialect of the API. It translates; the core decides.
type Face interface {
	// Name is "esb", "apigw" or "job".
	Name() string
	// Read checks the credentials and the body and translates them.
	Read(r *http.Request, api string, body []byte) (*Request, *Refusal)
	// Data returns the data member for an answer of the core, with its code and message.
	Data(req *Request, ans Answer) (code int, message string, data any)
	// Envelope wraps an answer.
	Envelope(code int, message string, data any, requestID string) map[string]any
}

// Settings are the differences between the faces of platforms. The fields of the same names of the
// package simulator's Server describe them.
type Settings struct {
	Credentials
	TenantID            string
	UnverifiedStatus400 bool
	MaxHostsPerRequest  int
	RowsWithoutHost     bool
	RowsWithoutAgentID  bool
	ManageProcBug       bool
	JobRemoved          bool
	ScreenPage          int
	OldCMDB             bool
}

// Of returns the face that answers a path, and the name of the API there.
func (set Settings) Of(path string) (face Face, api string) {
	switch {
	case strings.HasPrefix(path, esbPrefix):
		return esbFace{set}, strings.TrimSuffix(strings.TrimPrefix(path, esbPrefix), "/")
	case jobPath.MatchString(path):
		parts := jobPath.FindStringSubmatch(path)
		return jobFace{esbFace{set}, parts[1]}, parts[2]
	case strings.HasPrefix(path, cmdbESBPrefix):
		return cmdbFace{esbFace{set}}, strings.TrimSuffix(strings.TrimPrefix(path, cmdbESBPrefix), "/")
	case strings.Contains(path, cmdbPrefix):
		name, _ := nativeCMDB(path)
		return cmdbGatewayFace{gatewayFace{set}}, name
	case strings.Contains(path, gatewayPrefix):
		return gatewayFace{set}, gatewayAPI(path)
	default:
		return esbFace{set}, ""
	}
}

// esbPrefix is the path of GSE's APIs behind the ESB.
const esbPrefix = "/api/c/compapi/v2/gse/"

// Request is what every face translates to.
type Request struct {
	API   string
	Verb  Verb
	Items []*core.Item

	// Findings are what the platform accepts in the request although no document describes it.
	Findings []string

	TaskID       string   // of a poll
	AgentIDs     []string // of an upgrade, one for each host; of a task's state, the requested ones
	Namespace    string   // of a sync
	Start, Limit int      // of a sync

	Params map[string]any // of a request to CMDB

	pages    map[string]page // requested parts of screens, by agent id
	stepID   int64           // of a request to JOB
	eachHost bool            // of a request to JOB: each host's status is requested
}

// PageStart returns the start of the requested page, nil for none.
func (r *Request) PageStart() *int {
	switch page := jsontree.Object(r.Params["page"]); {
	case r.Verb == VerbSync:
		return &r.Start
	case page != nil:
		start := int(jsontree.Integer(page["start"]))
		return &start
	}
	return nil
}

// Verb is what a request does in the core.
type Verb int

// The verbs.
const (
	VerbAnswer  Verb = iota // carry out items and answer per host
	VerbOperate             // carry out items as a task
	VerbPoll
	VerbStatus
	VerbSync
	VerbUpgrade
	VerbAgents
	VerbTask   // the state of a task
	VerbScript // a script's results
	VerbLog    // what a script has printed
	VerbAsk    // CMDB
)

// Answer is the core's answer to a request.
type Answer struct {
	TaskID  string
	Results []core.Result
	Rows    []core.Row
	Total   int

	Success, Failed []string // of an upgrade

	Agents []core.Agent

	Scripts []core.ScriptResult
	Unknown bool // there is no such script

	CMDB cmdb.Answer // of a request to CMDB

	Queued     bool // the task has no results yet
	QueuedData any

	// Effects are the effects of faults on the face.
	Effects fault.Effects
}

// Asked returns CMDB's answer.
func (a Answer) Asked() (code int, message string, data any) {
	return a.CMDB.Code, a.CMDB.Message, a.CMDB.Data
}

// Refusal is the face's own answer to a bad request.
type Refusal struct {
	Status    int
	Code      int
	Message   string
	Violation bool // no document allows the request
	Header    map[string]string
	Body      map[string]any // in place of an envelope
}

// overLimit returns the problem of a request with more hosts than MaxHostsPerRequest.
func (set Settings) overLimit(req *Request) *problem {
	if set.MaxHostsPerRequest <= 0 {
		return nil
	}
	for _, it := range req.Items {
		if len(it.Targets) > set.MaxHostsPerRequest {
			return &problem{"hosts", strconv.Itoa(len(it.Targets)) + " hosts are more than " + strconv.Itoa(set.MaxHostsPerRequest)}
		}
	}
	return nil
}
