package tape

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Recorder forwards requests to a platform unchanged, and writes a tape.
type Recorder struct {
	Target    *url.URL
	Transport http.RoundTripper
	// Out receives the tape.
	Out io.Writer
	// Say is called with each error, as a sentence.
	Say func(string)

	proxy    *httputil.ReverseProxy
	mu       sync.Mutex
	disguise *disguise
	begun    time.Time
	count    int
	failure  error
}

// NewRecorder begins a tape. secrets are those that are known before the first request.
func NewRecorder(target *url.URL, transport http.RoundTripper, out io.Writer, say func(string), secrets ...string) (*Recorder, error) {
	first, err := line(header{Format})
	if err == nil {
		_, err = out.Write(first)
	}
	if err != nil {
		return nil, err
	}
	r := &Recorder{Target: target, Transport: transport, Out: out, Say: say, disguise: newDisguise(secrets...), begun: time.Now()}
	r.proxy = &httputil.ReverseProxy{
		Rewrite: r.rewrite, Transport: transport, ModifyResponse: r.answered, ErrorHandler: r.failed,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return r, nil
}

// Count returns the number of exchanges on the tape, and the error that ended it, if any.
func (r *Recorder) Count() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.failure
}

// pendingRequest is a request that waits for its response.
type pendingRequest struct {
	exchange Exchange
	header   http.Header
	query    string
	body     []byte
	began    time.Time
}

// ServeHTTP forwards one request of a program on this machine.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if fromPage(req) {
		http.Error(w, "bk-doctor record does not answer web pages", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client has closed the connection
	}
	began := time.Now()
	req.Body = io.NopCloser(bytes.NewReader(body))
	a := &pendingRequest{
		exchange: Exchange{Method: req.Method, Path: req.URL.Path, At: began.Sub(r.begun).Milliseconds()},
		header:   req.Header.Clone(), query: req.URL.RawQuery, body: body, began: began,
	}
	r.proxy.ServeHTTP(w, req.WithContext(withAsked(req.Context(), a)))
}

// fromPage reports whether a web page in this machine's browser sent a request. It shows by its origin, or by
// a host name that merely resolves to this machine (DNS rebinding).
func fromPage(req *http.Request) bool {
	host := (&url.URL{Host: req.Host}).Hostname()
	addr, err := netip.ParseAddr(host)
	here := host == "localhost" || err == nil && addr.IsLoopback()
	return !here || req.Header.Get("Origin") != "" || req.Header.Get("Sec-Fetch-Site") != ""
}

// rewrite changes only the address of a request.
func (r *Recorder) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(r.Target)
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = values
		}
	}
	if _, ok := p.In.Header["User-Agent"]; !ok {
		p.Out.Header["User-Agent"] = []string{""}
	}
}

// answered reads a response, writes the exchange, and forwards the response unchanged.
func (r *Recorder) answered(res *http.Response) error {
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("the answer was cut off: %w", err)
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	a := askedOf(res.Request.Context())
	a.exchange.Took = max(time.Since(a.began).Milliseconds(), 1)
	a.exchange.Status = res.StatusCode
	if strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") {
		body = unpacked(body)
	}
	r.write(a, body)
	return nil
}

// unpacked decompresses a body. One that cannot be decompressed is left out of the tape.
func unpacked(body []byte) []byte {
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		return nil
	}
	return plain
}

func (r *Recorder) failed(w http.ResponseWriter, req *http.Request, err error) {
	if req.Context().Err() == nil {
		r.mu.Lock()
		text := r.disguise.redact(err.Error())
		r.mu.Unlock()
		r.Say(fmt.Sprintf("%s was not reached, and the client got a 502: %s", r.Target.Host, text))
	}
	w.WriteHeader(http.StatusBadGateway)
}

// write disguises an exchange and writes it.
func (r *Recorder) write(a *pendingRequest, answer []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil {
		return
	}
	text, err := line(r.disguise.exchange(a, answer))
	if err == nil {
		_, err = r.Out.Write(text)
	}
	if err != nil {
		r.failure = err
		r.Say("the tape cannot be written any more: " + err.Error())
		return
	}
	r.count++
}

// exchange returns an exchange without what identifies the platform. It learns all secrets of the bodies
// first.
func (d *disguise) exchange(a *pendingRequest, answer []byte) Exchange {
	e := a.exchange
	query, err := url.ParseQuery(a.query)
	if err != nil {
		query = nil
	}
	body, isJSON := decode(string(a.body))
	d.learnFromHeader(a.header)
	for name, values := range query {
		if isSecret(name) {
			d.learn(values...)
		}
	}
	d.learnFrom(body)
	reply, replied := decode(string(answer))
	d.learnFrom(reply)

	object, _ := body.(map[string]any)
	switch {
	case a.header.Get("X-Bkapi-Authorization") != "" || a.header.Get("Authorization") != "":
		e.Credentials = "header"
	case object["bk_app_code"] != nil:
		e.Credentials = "body"
	case query.Has("bk_app_code"):
		e.Credentials = "query"
	}
	for _, name := range credentials {
		delete(object, name)
		query.Del(name)
	}
	e.Query = d.query(query)
	e.Request = d.body(a.body, body, isJSON)
	e.Response = d.body(answer, reply, replied)
	e.Path = d.path(e.Path) // last, when the names in the bodies are known
	return e
}

// learnFromHeader learns the credentials of a request.
func (d *disguise) learnFromHeader(header http.Header) {
	for name, values := range header {
		for _, value := range values {
			inner, isJSON := container(value)
			switch {
			case isJSON:
				d.learnFrom(inner)
			case isSecret(name):
				_, rest, _ := strings.Cut(value, " ")
				d.learn(value, rest)
			}
		}
	}
	request := http.Request{Header: header}
	for _, cookie := range request.Cookies() {
		d.learn(cookie.Value)
	}
	if _, password, ok := request.BasicAuth(); ok {
		d.learn(password)
	}
}

func (d *disguise) query(query url.Values) string {
	clean := make(url.Values, len(query))
	for _, name := range sortedKeys(query) {
		for _, value := range query[name] {
			if isSecret(name) {
				value = dropped
			}
			clean.Add(d.key(name), d.str(name, value))
		}
	}
	return clean.Encode()
}

// maxText is the number of bytes that are kept of a body that is not JSON, such as a gateway's page.
const maxText = 2000

func (d *disguise) body(raw []byte, value any, isJSON bool) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil
	case !isJSON:
		text := d.text(d.redact(string(raw)))
		value = strings.ToValidUTF8(text[:min(len(text), maxText)], "")
	default:
		value = d.value("", value)
	}
	clean, err := line(value)
	if err != nil {
		return nil
	}
	return bytes.TrimSpace(clean)
}

func sortedKeys[V any](in map[string]V) []string { return slices.Sorted(maps.Keys(in)) }

// askedKey is the context key of a request.
type askedKey struct{}

func withAsked(ctx context.Context, a *pendingRequest) context.Context {
	return context.WithValue(ctx, askedKey{}, a)
}

func askedOf(ctx context.Context) *pendingRequest {
	a, ok := ctx.Value(askedKey{}).(*pendingRequest)
	if !ok {
		return &pendingRequest{}
	}
	return a
}
