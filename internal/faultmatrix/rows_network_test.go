package faultmatrix

import (
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func networkFaults() []fault {
	return slices.Concat(
		alike(fault{pattern: patternUnreachable, faces: esbOnlyFace}, []fault{
			{name: "refused", title: "The connection is refused", says: "connection refused.", arrange: (*faultRun).refusesConnections},
			{name: "no-such-host", title: "DNS does not know the endpoint's host", says: "no such host.", arrange: func(r *faultRun) { r.settings["endpoint"] = "https://gse.invalid" }},
			{name: "handshake-broken", title: "The connection ends during the TLS handshake", says: "no connection to https://127.0.0.1", arrange: (*faultRun).hangsUp},
			{name: "unknown-authority", title: "The certificate is from an authority that is not trusted", says: "certificate signed by unknown authority.", arrange: func(r *faultRun) { r.serveTLS(certificate{}, false) }},
			{name: "certificate-expired", title: "The certificate has expired", says: "certificate has expired or is not yet valid", arrange: func(r *faultRun) { r.serveTLS(certificate{expired: true}, true) }},
			{name: "other-name", title: "The certificate is for another name", says: "certificate is valid for 127.9.9.9, not 127.0.0.1", arrange: func(r *faultRun) { r.serveTLS(certificate{ip: "127.9.9.9"}, true) }},
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
		alike(fault{pattern: patternLostOnce, faces: esbOnlyFace}, []fault{
			{name: "reset-once", title: "The connection is reset once before the answer", says: "connection reset by peer", fault: &simulator.Fault{Drop: "reset", Times: 1}},
			{name: "cut-once", title: "The connection ends once in the middle of the answer", says: "unexpected EOF", fault: &simulator.Fault{Drop: "mid", Times: 1}},
			{
				name: "timeout-before", title: "No answer in time (`request_timeout`), once; the platform did not take the request", says: "no answer within 8s", arrange: patience, slow: true,
				fault: &simulator.Fault{Delay: time.Hour, Times: 1},
			},
			{
				name: "timeout-after", title: "No answer in time (`request_timeout`), once; the platform took the request", says: "no answer within 8s", arrange: patience, slow: true,
				fault: &simulator.Fault{Stall: time.Hour, Times: 1},
			},
			{name: "drip", title: "The answer comes at one byte a second, once", says: "no answer within 8s", arrange: patience, slow: true, fault: &simulator.Fault{Drip: time.Second, Times: 1}},
		}),
	)
}

// patience is short enough for a test, and long enough for a busy machine to answer what is answered.
func patience(r *faultRun) { r.settings["request_timeout"] = "8s" }
