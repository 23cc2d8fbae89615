package tape

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Row is the result for the exchanges of one API.
type Row struct {
	API    string `json:"api"`
	Played int    `json:"played"`
	Differ int    `json:"differ"`
	// Left counts the exchanges that were not played, by reason.
	Left map[string]int `json:"not_played,omitempty"`
	// Differences has each difference once.
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is a difference between the platform and the simulator.
type Difference struct {
	Where     string `json:"where"`
	Platform  string `json:"platform"`
	Simulator string `json:"simulator"`
	// Times is how often it occurred, and Line where it occurred first.
	Times int `json:"times"`
	Line  int `json:"line"`
}

// Play plays a tape against a simulator that has not served yet, and compares the responses. The
// simulator's clock follows the tape.
func Play(exchanges []Exchange, sim *simulator.Server) []Row {
	p := player{sim: sim, now: time.Now(), tasks: make(map[string]string)}
	sim.Now = func() time.Time { return p.now }
	sim.AdmitAgents = true
	for _, all := range []string{"0.0.0.0/0", "::/0"} {
		sim.Admit(netip.MustParsePrefix(all))
	}
	begun := p.now
	rows := make(map[string]*Row)
	for _, e := range exchanges {
		api := e.api()
		if rows[api] == nil {
			rows[api] = &Row{API: api, Left: make(map[string]int)}
		}
		p.now = begun.Add(time.Duration(e.At) * time.Millisecond)
		sim.Tick()
		p.play(e, rows[api])
	}
	sorted := make([]Row, 0, len(rows))
	for _, api := range sortedKeys(rows) {
		sorted = append(sorted, *rows[api])
	}
	return sorted
}

// player plays a tape.
type player struct {
	sim *simulator.Server
	now time.Time
	// tasks maps task ids on the tape to the simulator's.
	tasks map[string]string
}

// Reasons why exchanges are not played.
const (
	leftCMDB    = "what CMDB knows is not on a tape"
	leftUnknown = "the simulator has no such API"
	leftGateway = "the answer is not the API's: a gateway or a proxy gave it"
	leftTask    = "its task began before the tape"
)

// play plays one exchange, and adds the result to the row.
func (p *player) play(e Exchange, row *Row) {
	request, _ := decode(string(e.Request))
	response, replied := decode(string(e.Response))
	_, isObject := response.(map[string]any)
	switch {
	case strings.Contains(e.Path, "/cc/") || strings.Contains(e.Path, "/bk-cmdb/") || strings.Contains(e.Path, "/api/v3/"):
		row.Left[leftCMDB]++
		return
	case e.Status >= 500 || e.Status == http.StatusTooManyRequests || !replied || !isObject:
		row.Left[leftGateway]++
		return
	case !p.known(request):
		row.Left[leftTask]++
		return
	}
	status, body := p.send(e, p.withTasks(request))
	answer, _ := decode(string(body))
	if status == http.StatusNotFound && e.Status != status {
		row.Left[leftUnknown]++
		return
	}
	row.Played++
	p.pair(response, answer)

	var found []Difference
	if e.Status != status {
		found = []Difference{{Where: "HTTP status", Platform: fmt.Sprint(e.Status), Simulator: strings.TrimSpace(fmt.Sprintf("%d %s", status, messageOf(answer)))}}
	} else {
		c := comparison{}
		c.compare("", "", response, answer)
		found = c.found
	}
	if len(found) > 0 {
		row.Differ++
	}
	for _, d := range found {
		row.add(d, e.Line)
	}
}

// messageOf returns the simulator's reason for refusing a request.
func messageOf(answer any) string {
	object, _ := answer.(map[string]any)
	text, _ := object["message"].(string)
	return strings.ReplaceAll(text, "|", "/")
}

// add adds a difference, or counts one that it has.
func (r *Row) add(d Difference, line int) {
	for i, known := range r.Differences {
		if known.Where == d.Where && known.Platform == d.Platform && known.Simulator == d.Simulator {
			r.Differences[i].Times++
			return
		}
	}
	d.Times, d.Line = 1, line
	r.Differences = append(r.Differences, d)
}

// api returns the name under which an exchange is counted.
func (e Exchange) api() string {
	path := strings.Trim(e.Path, "/")
	face := "gateway"
	if i := strings.Index(path, "compapi/"); i >= 0 {
		face = "ESB"
		if strings.Contains(path, "/job") {
			face = "JOB"
		}
	}
	name := face + " " + path[strings.LastIndex(path, "/")+1:]
	var body struct {
		Op *json.Number `json:"op_type"`
	}
	if json.Unmarshal(e.Request, &body) == nil && body.Op != nil {
		name += " op_type " + body.Op.String()
	}
	return name
}

// response is an http.ResponseWriter that keeps the response.
type response struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(status int) { r.status = cmp.Or(r.status, status) }

func (r *response) Write(part []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(part)
}

// send sends a request to the simulator, with the simulator's credentials if the tape had some.
func (p *player) send(e Exchange, request any) (int, []byte) {
	creds := map[string]any{"bk_app_code": simulator.DefaultAppCode, "bk_app_secret": simulator.DefaultAppSecret, "bk_username": "admin"}
	header := http.Header{"Content-Type": {"application/json"}}
	query, _ := url.ParseQuery(e.Query)
	switch e.Credentials {
	case "header":
		text, _ := json.Marshal(creds)
		header.Set("X-Bkapi-Authorization", string(text))
	case "body":
		if object, ok := request.(map[string]any); ok {
			for name, value := range creds {
				object[name] = value
			}
		}
	case "query":
		for name, value := range creds {
			query.Set(name, fmt.Sprint(value))
		}
	}
	var body []byte
	if len(e.Request) > 0 {
		body, _ = line(request)
	}
	r := &http.Request{
		Method: e.Method, URL: &url.URL{Path: e.Path, RawQuery: query.Encode()}, Header: header, Host: "127.0.0.1", RemoteAddr: "127.0.0.1:1",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	answer := &response{header: make(http.Header)}
	p.sim.ServeHTTP(answer, r)
	return answer.status, answer.body.Bytes()
}

// taskMembers are the fields that contain task ids.
var taskMembers = []string{"task_id", "bk_gse_taskid", "gseTaskId"}

// pair records which task of the simulator corresponds to which task on the tape.
func (p *player) pair(tape, sim any) {
	a, _ := tape.(map[string]any)
	b, _ := sim.(map[string]any)
	for name, value := range a {
		if task, ok := b[name]; ok && slices.Contains(taskMembers, name) {
			p.tasks[fmt.Sprint(value)] = fmt.Sprint(task)
			continue
		}
		p.pair(value, b[name])
	}
}

// known reports whether the tasks of a request began on the tape.
func (p *player) known(request any) bool {
	object, _ := request.(map[string]any)
	for _, name := range taskMembers {
		if task, ok := object[name]; ok && fmt.Sprint(task) != "" && p.tasks[fmt.Sprint(task)] == "" {
			return false
		}
	}
	return true
}

// withTasks replaces the task ids in a request by the simulator's.
func (p *player) withTasks(request any) any {
	object, ok := request.(map[string]any)
	if !ok {
		return request
	}
	for _, name := range taskMembers {
		if task, ok := object[name]; ok && p.tasks[fmt.Sprint(task)] != "" {
			object[name] = p.tasks[fmt.Sprint(task)]
		}
	}
	return object
}
