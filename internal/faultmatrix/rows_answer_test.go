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
		[]fault{
			status(401, `{"code":1640101,"message":"app unverified"}`, patternRefused, "HTTP 401 Unauthorized", esbOnlyFace),
		},
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
			// Promised in security-model.md: Redirects are not followed, so credentials go to the configured
			// endpoint only.
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
				// the agents have answered,
				pattern: patternStranger,
			},
		},
		alike(fault{pattern: patternNoEnvelope, faces: esbOnlyFace}, []fault{
			{
				name: "login-page-later", title: "HTTP 200 with a page, after the platform has answered", says: `text/html; charset=utf-8 beginning "<!DOCTYPE html>`, fault: ok(loginPage),
				// These are what a run begins with. GSE is asked before it registers or hosts.
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
				name: "closed-before", title: "The connection closes before the platform took the request", says: "no usable answer from http://127.0.0.1", fault: &simulator.Fault{Drop: "before"},
				pattern: patternLost, faces: esbOnlyFace,
			},
		},
		alike(fault{pattern: patternLostActed, faces: esbOnlyFace}, []fault{
			{name: "closed-after", title: "The connection closes when the platform has taken the request", says: "EOF", fault: &simulator.Fault{Drop: "after"}, faces: faces},
			{name: "reset", title: "The connection is reset before the answer", says: "connection reset by peer", fault: &simulator.Fault{Drop: "reset"}},
			{name: "cut", title: "The connection ends in the middle of the answer", says: "reading the answer: unexpected EOF", fault: &simulator.Fault{Drop: "mid"}},
		}),
		alike(fault{pattern: patternLostOnce, faces: esbOnlyFace}, []fault{}),
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

// hangsUp leads the run to a server that closes every connection at once.
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

// serveTLS leads the run to the simulator behind a certificate that it does not trust.
func (r *faultRun) serveTLS() {
	server := httptest.NewUnstartedServer(r.sim)
	server.Config.ErrorLog = providertest.Quiet
	server.StartTLS()
	r.t.Cleanup(server.Close)
	r.settings["endpoint"] = server.URL
}
