package faultmatrix

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// lateFaults are answers that come late or look unusual, but have the usual result.
func lateFaults() []fault {
	keys := (*faultRun).resultKey
	return slices.Concat(
		alike(fault{pattern: patternLate, faces: esbOnlyFace}, []fault{
			{name: "queued", title: "The task is queued (code 1000115, `data` null) for three answers", fault: &simulator.Fault{Queued: 3}, tasks: true, faces: faces},
			{name: "missing", title: "A host is missing from two answers", hit: []int{2}, fault: &simulator.Fault{Missing: 2}, repeats: 3},
			{name: "pending", title: "A host is in progress (115) for three answers", hit: []int{2}, fault: &simulator.Fault{Pending: 3}, repeats: 4, faces: faces},
		}),
		alike(fault{pattern: patternAsked, faces: esbOnlyFace}, []fault{
			{name: "backwards", title: "Results, rows and members come in another order", arrange: injects(simulator.Fault{Backwards: true})},
			{
				name: "late-answer", title: "An earlier poll is answered after a later one",
				except: map[operation]cell{onRead: {ending: well, tries: 1, faces: jobFace}, onCreate: {}, onUpdate: {}, onDelete: {}},
				arrange: func(r *faultRun) {
					target := r.face.Target(r.on)
					r.sim.Inject(simulator.Fault{API: target.API, Op: target.Op, Hosts: providertest.AddressList([]int{3}), Pending: 2})
					r.sim.Inject(simulator.Fault{API: r.face.ResultAPI(), Skip: 1, Times: 1, ExtraKeys: map[string]any{
						keys(r, 1): map[string]any{"error_code": 115, "error_msg": "in progress", "content": ""},
					}})
				},
				faces: withoutGateway,
			},
			{name: "errcode", title: "`errcode` and `errmsg` for `error_code` and `error_msg`", arrange: injects(simulator.Fault{Spelling: "errcode"})},
			{name: "content-object", title: "`content` is an object instead of a string", hit: []int{2}, fault: &simulator.Fault{ContentShape: "object"}},
		}),
	)
}

func hostFaults() []fault {
	return slices.Concat(
		alike(fault{pattern: patternNoVerdict}, []fault{
			{
				name: "pending-for-ever", title: "A host stays in progress (115) forever", says: "no verdict when the time was up (115, still in progress)", hit: []int{2}, fault: &simulator.Fault{Pending: -1},
				repeats: enough, gone: forgetTasks,
			},
			{name: "missing-for-ever", title: "A host is missing from every answer", says: "no verdict when the time was up", hit: []int{2}, fault: &simulator.Fault{Missing: -1}, repeats: enough, faces: gseFaces},
		}),
		alike(fault{pattern: patternOneFails, faces: esbOnlyFace}, []fault{
			{name: "agent-away", title: "A host's agent is away (117)", says: "117, the agent is abnormal or not found", hit: []int{2}, fault: &simulator.Fault{Unreachable: "117"}, faces: faces},
			{name: "unknown-code", title: "A host has a code that is not documented", says: "4711", hit: []int{2}, fault: &simulator.Fault{Code: new(4711), Message: "whatever"}},
			{
				name: "unreadable-result", title: "A host's result is no object, or has no code", says: "-1", hit: []int{2},
				arrange: func(r *faultRun) { r.bendResult(map[string]any{"data/" + r.resultKey(2): "gone"}, 0) },
				except: map[operation]cell{
					// The platform did what was requested.
					onCreate:  {ending: warns, says: "the platform's result could not be read", reason: notConfirmed + saysUnknown, tries: 1},
					onHost:    {ending: warns, reason: notRegistered, tries: 1}, // the question before registering fails first
					onRun:     {ending: warns, reason: notRegistered, tries: 1},
					onOperate: {ending: warns, says: "the platform's result could not be read", reason: outcomeUnknown, tries: 1},
					onStop:    {ending: warns, says: "the platform's result could not be read", reason: outcomeUnknown, tries: 1},
					// The task has the result once it can be read.
					onRestart: {ending: warns, says: "the platform's result could not be read", reason: outcomeUnknown, tries: 1, touches: []int{}},
				},
			},
		}),
		alike(fault{pattern: patternOperationFails, faces: esbOnlyFace}, []fault{
			{
				name: "command-failed", title: "The command fails on a host (65535) and prints why", says: "no space left on device", hit: []int{2},
				fault: &simulator.Fault{Code: new(65535), Message: "no space left on device"}, faces: faces,
			},
			{
				name: "check-failed", title: "A host fails the check after the start (836)", says: "836, the process was not running when the start was checked", hit: []int{2},
				fault: &simulator.Fault{Code: new(836), Message: "start check failed"},
			},
			{
				name: "stop-check-failed", title: "A host fails the check after a stop (836 and a message that begins with stop)", says: "836, the process was still running when the stop was checked",
				hit: []int{2}, fault: &simulator.Fault{Code: new(836), Message: "stop check failed"},
			},
		}),
		alike(fault{pattern: patternOperationWell}, []fault{
			{name: "already-running", title: "The process runs already (828)", arrange: (*faultRun).startAll, except: map[operation]cell{onStop: {}, onKill: {}}},
			{name: "one-shot", title: "A one-shot process has ended when its start is checked (836)", except: map[operation]cell{onStop: {}, onKill: {}}, oneShot: true},
		}),
		alike(fault{pattern: patternUnreadable, faces: esbOnlyFace}, []fault{
			{name: "unreadable-status", title: "A query's `content` is cut in half", says: "the agent's answer", hit: []int{2}, fault: &simulator.Fault{ContentShape: "broken"}, faces: faces},
			{name: "no-instance", title: "A query's `content` names no instance", says: "the agent's answer names no instance with a pid", hit: []int{2}, fault: &simulator.Fault{ContentShape: "no-instance"}},
		}),
	)
}

func forgetTasks(r *faultRun) {
	for _, task := range r.sim.Tasks() {
		r.sim.ExpireTask(task.ID)
	}
}

func taskFaults() []fault {
	return slices.Concat(
		alike(fault{pattern: patternNoVerdict, faces: gseFaces}, []fault{
			{name: "queued-for-ever", title: "The task stays queued (1000115) forever", says: "no verdict when the time was up (the task was still queued)", fault: &simulator.Fault{Queued: -1}, tasks: true},
			{
				name: "expired", title: "The platform no longer knows the task", says: "no verdict when the time was up", fault: &simulator.Fault{TaskID: new("GSETASK:S:20240101000000.000000:1")}, tasks: true,
				faces: withoutGateway,
			},
		}),
		[]fault{
			{name: "no-task-id", title: "The call is accepted, but the answer names no task", says: "named no task, so its result cannot be asked for", fault: &simulator.Fault{TaskID: new("")}, tasks: true, pattern: patternNoTask},
			{
				name: "gse-error", title: "JOB had trouble with GSE (1210001) and does not say which", says: "code 1210001", fault: &simulator.Fault{EnvelopeCode: new(1210001), EnvelopeMessage: "GSE error"},
				except: map[operation]cell{
					onCreate:  {ending: taints, reason: notConfirmed + saysUnknown, tries: 1},
					onConfirm: {ending: warns, reason: notConfirmed + saysTimeUp, tries: enough, timeUp: true},
					onRun:     {ending: warns, reason: notRunning + saysUnknown, tries: 1},
					onOperate: {ending: warns, reason: outcomeUnknown, tries: 1},
					onStop:    {ending: warns, reason: outcomeUnknown, tries: 1},
					onRestart: {ending: warns, reason: outcomeUnknown, tries: 1},
					onWait:    {ending: warns, reason: noVerdict, tries: enough, timeUp: true},
				},
				pattern: patternRefused, faces: jobFace,
			},
		},
	)
}

func ownerFaults() []fault {
	taken := func(r *faultRun) {
		namespace, name := r.face.Process()
		providertest.NoError(r.t, r.sim.Register(providertest.Address(2), namespace, name, map[string]string{"who": "another"}, `{"identity":{}}`))
	}
	return slices.Concat(
		[]fault{
			{
				name: "taken", title: "Another owner has registered the process on a host (850)", says: "the process is registered already", hit: []int{2}, arrange: taken,
				gone: func(r *faultRun) {
					if r.on == onCreate {
						r.second(r.sim.Unregister)
					}
				},
				pattern: patternTaken, faces: gseFaces,
			},
			{name: "unregistered", title: "Another tool unregisters the process on a host", hit: []int{2}, arrange: (*faultRun).unregisterSecond, pattern: patternUnregistered},
		},
		alike(fault{pattern: patternLag, faces: gseFaces}, []fault{
			{name: "no-row", title: "The cached status lags and has no row for a host", hit: []int{2}},
			// Promised in partial-failure.md: a destroy, or the removal of a host, if [ownership](ownership.md) cannot be
			// determined | ends with an error, exit code 1.
			// Promised in reference: If ownership cannot be determined, the host stays, with an error.
			{
				name: "rows-unreadable", title: "Rows of the cached status cannot be read",
				except:  map[operation]cell{onReadOwner: {ending: fails, says: "who registered it could not be read", tries: 1}},
				arrange: injects(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": "none"}}), faces: esbOnlyFace,
			},
		}),
	)
}

const (
	badGatewayPage = "<html><head><title>502 Bad Gateway</title></head></html>"
	loginPage      = "<!DOCTYPE html><html><head><title>Login</title></head><body></body></html>"
	// busyCode is the ESB's own 429.
	busyCode = 1306429
)

func statusFaults() []fault {
	return slices.Concat(
		[]fault{
			status(502, badGatewayPage, patternLost, "HTTP 502 Bad Gateway from", esbOnlyFace),
			{name: "504", title: "HTTP 504; the platform acts on the request anyway", says: "HTTP 504 Gateway Timeout", fault: &simulator.Fault{HTTPStatus: 504, Apply: true}, pattern: patternLostActed, faces: esbOnlyFace},
		},
		alike(fault{pattern: patternLostOnce, faces: esbOnlyFace}, []fault{
			{name: "502-once", title: "HTTP 502 with a page, once", says: "HTTP 502 Bad Gateway", fault: &simulator.Fault{HTTPStatus: 502, Body: badGatewayPage, Times: 1}},
			{name: "504-once", title: "HTTP 504, once; the platform acts on the request anyway", says: "HTTP 504 Gateway Timeout", fault: &simulator.Fault{HTTPStatus: 504, Apply: true, Times: 1}},
		}),
		alike(fault{pattern: patternTurnedAway, faces: esbOnlyFace}, []fault{
			{name: "429", title: "HTTP 429", says: "HTTP 429 Too Many Requests from", fault: &simulator.Fault{HTTPStatus: 429}},
			{
				name: "esb-busy", title: "The ESB's rate limit (code 1306429)", says: "Set requests_per_second, or lower max_concurrent_requests.",
				fault: &simulator.Fault{EnvelopeCode: new(busyCode), EnvelopeMessage: "too many requests"},
			},
		}),
		alike(fault{pattern: patternTurnedAwayOnce, faces: esbOnlyFace}, []fault{
			{name: "429-once", title: "HTTP 429, once", fault: &simulator.Fault{HTTPStatus: 429, Times: 1}},
		}),
		[]fault{status(401, `{"code":1640101,"message":"app unverified"}`, patternRefused, "HTTP 401 Unauthorized", esbOnlyFace)},
		alike(fault{pattern: patternRefused, faces: esbOnlyFace}, []fault{
			{
				name: "403", title: "HTTP 403: the application may not call this API", says: "that the application may call",
				fault: &simulator.Fault{HTTPStatus: 403, Body: `{"code":1640301,"message":"App has no permission to the resource","data":null,"result":false}`}, faces: faces,
			},
			{name: "404", title: "HTTP 404: there is no such API", says: "HTTP 404 Not Found", fault: &simulator.Fault{HTTPStatus: 404}, faces: gatewayFace},
			{
				name: "404-job", title: "HTTP 404 from JOB, which has no process APIs from 3.7 on", says: "JOB has no process APIs as of release 3.7.", fault: &simulator.Fault{HTTPStatus: 404},
				except: map[operation]cell{
					onUpdate: {ending: fails, reason: "other_spec: this platform's JOB does not have the process API", tries: 1},
					onRun:    {ending: warns, reason: notRunning + "this platform's JOB does not have the process API", tries: 1},
				},
				faces: jobFace,
			},
			{name: "413", title: "HTTP 413: the request is too long", says: "Lower max_hosts_per_request.", fault: &simulator.Fault{HTTPStatus: 413, Body: "<html>413</html>"}},
			// Promised in security-model.md: Redirects are not followed, so credentials go to the configured endpoint only.
			{
				name: "redirect", title: "A redirect, as to a login page", says: "redirect to https://login.example.com not followed",
				fault: &simulator.Fault{HTTPStatus: 302, Header: map[string]string{"Location": "https://login.example.com/?next=x"}},
			},
			{
				name: "esb-not-allowed", title: "The platform refuses the application (`result` is false, any code)", says: "refused by the platform: app not allowed (code 1306402",
				fault: &simulator.Fault{EnvelopeCode: new(1306402), EnvelopeMessage: "app not allowed"},
			},
			{name: "false-with-zero", title: "`result` is false and the code 0", says: "refused by the platform", fault: &simulator.Fault{Envelope: map[string]any{"result": false}}},
		}),
		[]fault{
			{
				name: "poison", title: "The platform refuses a whole request because of one host", says: "refused by the platform: host not found (code 1000000", hit: []int{2},
				fault: &simulator.Fault{EnvelopeCode: new(1000000), EnvelopeMessage: "host not found"}, pattern: patternPoisoned,
			},
		},
	)
}

func status(code int, body string, p *pattern, says string, by []face) fault {
	title := fmt.Sprint("HTTP ", code)
	if strings.HasPrefix(body, "<") {
		title += " with a page"
	}
	return fault{
		name: fmt.Sprint(code), title: title + " (" + http.StatusText(code) + ")", says: says, pattern: p, faces: by,
		fault: &simulator.Fault{HTTPStatus: code, Body: body},
	}
}

func formFaults() []fault {
	ok := func(body string) *simulator.Fault { return &simulator.Fault{HTTPStatus: 200, Body: body} }
	return slices.Concat(
		[]fault{
			{
				name: "login-page", title: "HTTP 200 with a page, where the platform has not answered yet", says: `is not the platform: HTTP 200 OK: not a JSON object: text/html`, fault: ok(loginPage),
				except: map[operation]cell{onReadOwner: {}},
				// onReadOwner follows the answers of the agents.
				pattern: patternStranger,
			},
		},
		alike(fault{pattern: patternNoEnvelope, faces: esbOnlyFace}, []fault{
			{
				name: "login-page-later", title: "HTTP 200 with a page, after the platform has answered", says: `text/html; charset=utf-8 beginning "<!DOCTYPE html>`, fault: ok(loginPage),
				// These calls are the first of a run. GSE is called before anything is registered or hosted.
				except: map[operation]cell{
					onCreate:   {ending: taints, reason: notConfirmed + saysUnknown, tries: 2, faces: gseFaces},
					onAskFirst: {}, onRead: {}, onUpdate: {}, onOperate: {}, onStop: {}, onRestart: {},
					onStatus: {}, onCached: {}, onList: {},
					onDelete: {ending: fails, tries: 2, faces: gseFaces},
				},
				faces: faces,
			},
			{name: "empty", title: "An empty answer", says: "no envelope: empty body", fault: ok(" ")},
		}),
	)
}

func networkFaults() []fault {
	return slices.Concat(
		alike(fault{pattern: patternUnreachable, faces: esbOnlyFace}, []fault{
			// Promised in index.md: An address that has accepted no connection yet is tried once.
			{name: "refused", title: "The connection is refused", says: "connection refused.", hides: []string{"tries in"}, arrange: (*faultRun).refusesConnections},
			{name: "no-such-host", title: "DNS does not know the endpoint's host", says: "no such host.", arrange: func(r *faultRun) { r.settings["endpoint"] = "https://gse.invalid" }},
			{name: "handshake-broken", title: "The connection ends during the TLS handshake", says: "no connection to https://127.0.0.1", arrange: (*faultRun).hangsUp},
			{name: "unknown-authority", title: "The certificate is from an authority that is not trusted", says: "certificate signed by unknown authority.", arrange: (*faultRun).serveTLS},
			{name: "no-tls", title: "The server does not speak TLS", says: "The server at this address does not speak TLS.", arrange: func(r *faultRun) { r.settings["endpoint"] = "https" + r.sim.URL[len("http"):] }},
		}),
		[]fault{
			{
				name: "closed-before", title: "The connection closes before the platform takes the request", says: "no usable answer from http://127.0.0.1", fault: &simulator.Fault{Drop: "before"},
				pattern: patternLost, faces: esbOnlyFace,
			},
		},
		alike(fault{pattern: patternLostActed, faces: esbOnlyFace}, []fault{
			{name: "closed-after", title: "The connection closes after the platform has taken the request", says: "EOF", fault: &simulator.Fault{Drop: "after"}, faces: faces},
			{name: "reset", title: "The connection is reset before the answer", says: "connection reset by peer", fault: &simulator.Fault{Drop: "reset"}},
			{name: "cut", title: "The connection ends in the middle of the answer", says: "reading the answer: unexpected EOF", fault: &simulator.Fault{Drop: "mid"}},
		}),
	)
}

func (r *faultRun) listen() net.Listener {
	listener, err := (&net.ListenConfig{}).Listen(r.t.Context(), "tcp", "127.0.0.1:0")
	providertest.NoError(r.t, err)
	r.t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func (r *faultRun) refusesConnections() {
	listener := r.listen()
	_ = listener.Close()
	r.settings["endpoint"] = "http://" + listener.Addr().String()
}

// hangsUp sends the run to a server that closes every connection at once.
func (r *faultRun) hangsUp() {
	listener := r.listen()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	r.settings["endpoint"] = "https://" + listener.Addr().String()
}

// serveTLS sends the run to the simulator behind a certificate that the provider does not trust.
func (r *faultRun) serveTLS() {
	server := httptest.NewUnstartedServer(r.sim)
	server.Config.ErrorLog = providertest.Quiet
	server.StartTLS()
	r.t.Cleanup(server.Close)
	r.settings["endpoint"] = server.URL
}
