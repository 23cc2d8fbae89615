package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// Questions are the optional parts of Check.
type Questions struct {
	Hosts []fleet.Host
	// Namespace is the namespace in which the age of the cached status is checked; "" for none.
	Namespace string
	// Business is a business of CMDB; 0 for none.
	Business int64
	// Files runs the script on Hosts that reads what their agents host.
	Files bool
	// Calls is the number of concurrent calls to find a rate limit; 0 for none.
	Calls int
}

// Codes of the gateways for invalid arguments of a call that is granted.
const (
	esbArguments     = 1306406
	gatewayArguments = 1640001
)

// esbTrouble are the codes of the ESB for a backend that failed, a response that it cannot read, and too many
// requests.
var esbTrouble = []int64{1306201, 1306208, 1306429}

// Check examines a platform and changes nothing. Calls that test a permission have an empty body, without a
// process or host.
func (p *Platform) Check(ctx context.Context, q Questions, report *Report) error {
	report.add(p.tls())
	if !p.enter(ctx, report) {
		return ctx.Err()
	}
	for _, a := range gseAPIs[p.Gateway] {
		report.add(permission(ctx, p.Raw, gseSystem, p.Gateway, p.gseAPI(a.name, false), a.use, struct{}{}))
	}
	p.checkJOB(ctx, report)
	p.checkCMDB(ctx, q, report)
	p.askHosts(ctx, q.Hosts, report)
	if q.Files {
		p.readFiles(ctx, q.Hosts, report)
	}
	p.age(ctx, q.Namespace, report)
	report.add(p.rate(ctx, q.Calls))
	report.add(Line{ID: "versions", What: "versions", State: Undetermined, Found: "no API names the release of GSE or its agents; ask the administrators"})
	return ctx.Err()
}

func (p *Platform) tls() Line {
	l := Line{ID: "tls", What: "encryption", State: Well, Found: "connections are encrypted and verified, or stay on this machine"}
	if len(p.Warnings) > 0 {
		l.State, l.Found = Found, strings.Join(p.Warnings, " ")
		l.Next = "Use https URLs, and BK_CA_CERT_FILE in place of BK_INSECURE_SKIP_VERIFY."
	}
	return l
}

// enter makes the first call, for the result of a task that does not exist. It shows whether the platform can
// be reached and accepts the application, and what it returns for such a task. If it fails, Check ends.
func (p *Platform) enter(ctx context.Context, report *Report) bool {
	var results procapi.ResultMap
	reply, err := p.Raw.Call(ctx, p.gseAPI("get_proc_operate_result_v2", true), map[string]any{"task_id": noTask}, &results)
	there := Line{ID: "reachable", What: "reachable", State: Well, Found: "the platform answers", Milliseconds: took(reply.Elapsed)}
	let := Line{ID: "credentials", What: "credentials", State: Well, Found: "the application and the user are accepted"}
	if failure := (*bkapi.Error)(nil); errors.As(err, &failure) {
		there.Milliseconds = took(failure.Elapsed)
		switch says := judge(err); {
		case says == apiMissing, says == inconclusive:
			there.State, there.Found = Found, err.Error()
			there.Next = "Check BK_ENDPOINT and BK_GATEWAY, the proxy and the firewall between this machine and the platform, and the platform itself."
			report.add(there)
			return false
		case bkapi.DenialOf(err) == bkapi.DeniedPermission, failure.Code == bkapi.CodeNoPermission: // the line about this API reports it
		case says == denied, failure.Status == http.StatusBadRequest:
			let.State, let.Found = Found, err.Error()
			let.Next = "Check BK_APP_CODE, BK_APP_SECRET and the user (BK_USERNAME, BK_TOKEN or BK_ACCESS_TOKEN). A bk_username takes an application that needs no login."
			report.add(there)
			report.add(let)
			return false
		}
	}
	report.add(there)
	report.add(let)
	report.add(expired(err, results))
	return true
}

// noTask is the id of a task that does not exist, in the form of the platform's ids.
const noTask = "GSETASK:S:200001010000000000:1"

// expired returns the line about tasks that the platform does not know.
func expired(err error, results procapi.ResultMap) Line {
	switch {
	case bkapi.HasCode(err, procapi.CodeTaskQueued):
		return settled("expired-empty", belief.No, "it has code 1000115, as one that is queued")
	case err == nil && len(results) == 0:
		return settled("expired-empty", belief.Yes, "its results are empty")
	case err == nil:
		return unsettled("expired-empty", "it has results, though nobody started it")
	}
	return unsettled("expired-empty", err.Error())
}

// judgement is what a response shows about an API.
type judgement string

const (
	granted      judgement = "granted" // the system behind the gateway has read the request
	denied       judgement = "denied"
	apiMissing   judgement = "missing"
	inconclusive judgement = "inconclusive"
)

func judge(err error) judgement {
	e := (*bkapi.Error)(nil)
	switch {
	case !errors.As(err, &e):
		return granted
	case e.Stranger, slices.Contains(esbTrouble, e.Code):
		return inconclusive
	case e.Code != 0 && !e.ByGateway() && e.Code != bkapi.CodeNoPermission && bkapi.DenialOf(err) == bkapi.NotDenied: // whatever the HTTP status
		return granted
	case e.Status == http.StatusNotFound, e.Code == 1306404, e.Code == 1306405:
		return apiMissing
	case bkapi.DenialOf(err) != bkapi.NotDenied, e.Code == bkapi.CodeNoPermission, e.Gateway == bkapi.ESB && e.ByGateway() && e.Code != esbArguments:
		return denied
	case e.Kind == bkapi.KindRefused, e.Status == http.StatusBadRequest && e.Code == gatewayArguments:
		return granted
	}
	return inconclusive
}

// permission returns the line about whether an API may be called.
func permission(ctx context.Context, c *bkapi.Client, s system, gateway bkapi.Gateway, to bkapi.API, use string, body any) Line {
	l := Line{ID: to.Name, What: to.Name, State: Well, Found: "granted; for " + use}
	reply, err := c.Call(ctx, to, body, nil)
	l.Milliseconds = took(reply.Elapsed)
	failure := (*bkapi.Error)(nil)
	if !errors.As(err, &failure) {
		return l
	}
	l.Milliseconds = took(failure.Elapsed)
	resource := fmt.Sprintf("API %s of gateway %s", to.Name, s.gateway)
	if gateway == bkapi.ESB {
		resource = fmt.Sprintf("API %s of system %s", to.Name, s.esb)
	}
	switch judge(err) {
	case granted:
	case apiMissing:
		l.State, l.Found, l.Next = Found, "this platform does not have it: "+err.Error(), "It is for "+use+". Ask the administrators for the release that has the "+resource+"."
	case denied:
		l.State, l.Found = Found, err.Error()
		l.Next = "Apply for the " + resource + " for this application, in the developer center. With code 9900403, apply for the user in the permission center (权限中心). It is for " + use + "."
	case inconclusive:
		l.State, l.Found = Undetermined, err.Error()
	}
	return l
}

func (p *Platform) checkJOB(ctx context.Context, report *Report) {
	if p.JOB == nil {
		report.add(unsettled("job-removed", "BK_JOB_ENDPOINT is not set"))
		return
	}
	for i, a := range jobAPIs {
		to := p.jobAPI(a.name)
		_, err := p.JOB.Call(ctx, to, struct{}{}, nil)
		switch {
		case i > 0:
		case job.IsRemoved(err):
			report.add(settled("job-removed", belief.Yes, err.Error()))
			return
		case judge(err) == granted:
			report.add(settled("job-removed", belief.No, "it answers, so it is older than 3.7"))
		default:
			report.add(unsettled("job-removed", err.Error()))
		}
		report.add(permission(ctx, p.JOB, jobSystem, bkapi.ESB, to, a.use, struct{}{}))
	}
}

func (p *Platform) checkCMDB(ctx context.Context, q Questions, report *Report) {
	if p.CMDB == nil {
		report.add(unsettled("old-cmdb", "BK_CMDB_ENDPOINT is not set"))
		return
	}
	business := max(q.Business, 1)
	var (
		older *bool
		ways  []Line // APIs that read processes
	)
	for _, a := range cmdbAPIs {
		to := p.cmdbAPI(a.api, a.path, fmt.Sprint(business))
		body := map[string]any{}
		if a.api == "search_business" {
			body = map[string]any{"fields": []string{"bk_biz_id"}, "page": map[string]int{"start": 0, "limit": 1}}
		}
		reply, err := p.CMDB.Call(ctx, to, body, nil)
		if failure := (*bkapi.Error)(nil); err == nil {
			older = &reply.Older
		} else if errors.As(err, &failure) && failure.Kind == bkapi.KindRefused {
			older = &failure.Older
		}
		switch l := permission(ctx, p.CMDB, cmdbSystem, p.CMDBGateway, to, "bk_hosts and bk_cmdb_processes", body); a.api {
		case "list_process_related_info", "list_service_instance_detail":
			ways = append(ways, l)
		default:
			report.add(l)
		}
	}
	for _, l := range eitherWay(ways[0], ways[1]) {
		report.add(l)
	}
	switch {
	case p.CMDBGateway == bkapi.ESB:
		report.add(unsettled("old-cmdb", "the ESB gives all answers the same form"))
	case older == nil:
		report.add(unsettled("old-cmdb", "CMDB answered no call"))
	case *older:
		report.add(settled("old-cmdb", belief.Yes, "its answers have bk_error_code"))
	default:
		report.add(settled("old-cmdb", belief.No, "its answers have code"))
	}
}

// eitherWay returns the lines about the two APIs with which bk_cmdb_processes can read processes. One of them
// is sufficient.
func eitherWay(related, instances Line) []Line {
	const enough = "not granted, and not needed: "
	related.What, instances.What = related.What+" (processes)", instances.What+" (processes, if the other is refused)"
	switch {
	case related.State == Well && instances.State == Found:
		instances.State, instances.Next = Well, ""
		instances.Found = enough + "bk_cmdb_processes reads processes with list_process_related_info"
	case related.State == Found && instances.State == Well:
		related.State, related.Next = Well, "Apply for it only if that takes too many calls."
		related.Found = enough + "bk_cmdb_processes reads processes with list_service_instance_detail, with a call for each module"
	}
	return []Line{related, instances}
}

// askHosts queries the agents of hosts for a process that does not exist. This runs nothing.
func (p *Platform) askHosts(ctx context.Context, hosts []fleet.Host, report *Report) {
	if len(hosts) == 0 {
		report.add(Line{ID: "agents", What: "agents", State: Undetermined, Found: "no host is given", Next: "Give some with -host."})
		return
	}
	process := p.GSE.Process(gse.Meta{Namespace: "bk-doctor", Name: "nobody"}, scratchSpec("nobody", "root"))
	limited, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	statuses, err := process.LiveStatus(limited, hosts)
	for _, h := range hosts {
		l := Line{ID: "agent " + h.Address(), What: "agent of " + h.Address(), State: Well, Found: "it answers"}
		switch s := statuses[h]; {
		case err != nil:
			l.State, l.Found, l.Next = Undetermined, err.Error(), "See the line of operate_proc_v2."
		case s.State == fleet.Unknown:
			l.State, l.Found, l.Next = Found, s.Message, "Look at the agent in NodeMan (节点管理)."
			if s.Code != 0 {
				l.Found = fmt.Sprintf("code %d: %s", s.Code, s.Message)
			}
		}
		report.add(l)
	}
}

// agentPatience is how long agents may take to answer.
const agentPatience = 30 * time.Second

// readFiles runs the script that verify = "agent" runs.
func (p *Platform) readFiles(ctx context.Context, hosts []fleet.Host, report *Report) {
	reader := p.GSE.Hosted
	switch {
	case reader == nil && p.Gateway == bkapi.APIGW:
		reader = gse.HostedFiles{Client: p.GSE}
	case reader == nil:
		reader = procapi.Unread("the ESB has no script API; it takes the gateway or JOB")
	}
	limited, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	readings := reader.ReadHosted(limited, hosts, false)
	for _, h := range hosts {
		l := Line{ID: "file " + h.Address(), What: "file of the agent of " + h.Address(), State: Well}
		if why := readings[h].Reason(); why != "" {
			l.State, l.Found, l.Next = Found, why, `Without it, verify = "agent" does not verify this host.`
		} else {
			l.Found = fmt.Sprintf("it was read; the agent hosts %d processes", len(readings[h].Entries))
		}
		report.add(l)
	}
}

// age reports the age of the cached status, by the newest row in it, or in its first page if it has more.
func (p *Platform) age(ctx context.Context, namespace string, report *Report) {
	l := Line{ID: "status-age", What: "age of the cached status", State: Undetermined}
	if namespace == "" {
		l.Found, l.Next = "no namespace is given", "Give one in which processes are registered with -namespace."
		report.add(l)
		return
	}
	rows, count, err := p.list(ctx, namespace)
	newest, which := int64(0), "its newest row"
	if listed := int64(len(rows)); count > listed {
		which = fmt.Sprintf("the newest of the first %d of its %d rows", listed, count)
	}
	for _, row := range rows {
		newest = max(newest, row.ReportTime.Int())
	}
	switch {
	case err != nil:
		l.Found = err.Error()
	case newest == 0:
		l.Found = fmt.Sprintf("namespace %q has no row with a report_time", namespace)
	default:
		old := p.Clock.Now().Sub(time.Unix(newest, 0)).Round(time.Second)
		l.State, l.Found = Well, fmt.Sprintf("%s is %s old, by this machine's clock", which, old)
		if old > 5*time.Minute {
			l.State, l.Next = Found, "A change made at a console is found only after that time. Compare the clocks first."
		}
	}
	report.add(l)
}

// rate makes concurrent calls, and counts those that the platform rejects for a rate limit.
func (p *Platform) rate(ctx context.Context, calls int) Line {
	l := Line{ID: "rate", What: "limit on calls", State: Undetermined, Found: "not asked for", Next: "-calls 50 makes 50 calls that read nothing, at once."}
	if calls == 0 {
		return l
	}
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		turned int
		last   error
		failed error // for another reason
		began  = time.Now()
	)
	for range calls {
		wg.Go(func() {
			_, err := p.Hasty.Call(ctx, p.gseAPI("get_proc_operate_result_v2", true), map[string]any{"task_id": noTask}, nil)
			mu.Lock()
			defer mu.Unlock()
			switch failure := (*bkapi.Error)(nil); {
			case judge(err) == granted:
			case errors.As(err, &failure) && failure.TurnedAway():
				turned, last = turned+1, err
			default:
				failed = err
			}
		})
	}
	wg.Wait()
	if failed != nil && turned == 0 {
		l.Found, l.Next = failed.Error(), ""
		return l
	}
	l.State, l.Next = Well, ""
	l.Found = fmt.Sprintf("none met in %d calls within %s", calls, time.Since(began).Round(time.Millisecond))
	if turned > 0 {
		l.State, l.Found = Found, fmt.Sprintf("%d of %d calls were turned away: %s", turned, calls, last)
		l.Next = "Set requests_per_second and max_concurrent_requests in the provider block."
	}
	return l
}

// settled returns a line about a belief that was checked.
func settled(id, value, found string) Line {
	b, _ := belief.Find(id)
	l := Line{ID: id, What: strings.TrimSuffix(b.Holds.English, "."), State: Well, Found: "yes: " + found, Value: value}
	if !b.As(value) {
		l.State, l.Found, l.Next = Found, "no: "+found, b.Otherwise.English
	}
	return l
}

// unsettled returns a line about a belief that cannot be checked, with the reason.
func unsettled(id, why string) Line {
	b, _ := belief.Find(id)
	return Line{ID: id, What: strings.TrimSuffix(b.Holds.English, "."), State: Undetermined, Found: why, Value: belief.Unknown}
}
