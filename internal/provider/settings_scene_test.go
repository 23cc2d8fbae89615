package provider_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// settingScene is a provider and several platforms that record all requests, including credentials.
type settingScene struct {
	*providertest.Protocol
	sims map[string]*providertest.Sim
	// places replaces names in values by what only this scene knows, such as URLs.
	places *strings.Replacer
	log    providertest.LogBuffer
	// front, if not nil, gets each request first.
	front func(*http.Request)

	mu       sync.Mutex
	requests []sentRequest
	// inFlight is the number of requests in progress, peak its maximum.
	inFlight, peak int
}

type sentRequest struct {
	platform, path string
	header         http.Header
	body           map[string]any
}

func newSettingScene(t *testing.T) *settingScene {
	t.Helper()
	s := &settingScene{Protocol: providertest.NewProtocol(t), sims: make(map[string]*providertest.Sim)}
	s.Until = tflogtest.RootLogger(t.Context(), &s.log)
	var places []string
	for _, name := range []string{"here", "there", "elsewhere"} {
		s.sims[name] = providertest.NewSimBehind(t, func(sim http.Handler) http.Handler { return s.keep(name, sim) })
		places = append(places, "{"+name+"}", s.sims[name].URL)
	}
	secure := httptest.NewUnstartedServer(s.keep("tls", s.sims["here"].Server))
	secure.Config.ErrorLog = providertest.Quiet // it reports the client's errors
	secure.StartTLS()
	t.Cleanup(secure.Close)
	_, other := newCertificate(t, nil)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	places = append(places, "{tls}", secure.URL, "{ca}", file(t, certificate), "{other-ca}", file(t, other))
	s.places = strings.NewReplacer(places...)
	return s
}

func (s *settingScene) keep(platform string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		sent := sentRequest{platform: platform, path: r.URL.Path, header: r.Header.Clone()}
		providertest.Check(s.T, err == nil && json.Unmarshal(body, &sent.body) == nil, "%s got a body that cannot be read: %s", r.URL.Path, body)
		s.mu.Lock()
		s.requests = append(s.requests, sent)
		s.inFlight++
		s.peak = max(s.peak, s.inFlight)
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.inFlight--
			s.mu.Unlock()
		}()
		if s.front != nil {
			s.front(r)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// Settings are the fewest settings for a call. more overrides them; nil removes one.
func (s *settingScene) Settings(more ...map[string]any) map[string]any {
	settings := map[string]any{
		"endpoint": "{here}", "app_code": simulator.DefaultAppCode, "app_secret": simulator.DefaultAppSecret, "username": "admin",
		"retry_wait_min": "1ms", "retry_wait_max": "5ms",
	}
	for _, m := range more {
		maps.Copy(settings, m)
	}
	for name, value := range settings {
		if text, ok := value.(string); ok {
			settings[name] = s.places.Replace(text)
		}
	}
	return nested(settings)
}

// nested moves settings with a point in their names into their objects.
func nested(settings map[string]any) map[string]any {
	objects := make(map[string]any)
	for name, value := range settings {
		object, rest, found := strings.Cut(name, ".")
		if !found {
			objects[name] = value
			continue
		}
		if objects[object] == nil {
			objects[object] = make(map[string]any)
		}
		objects[object].(map[string]any)[rest] = value //nolint:forcetypeassert // it is made so
	}
	for name, value := range objects {
		if object, ok := value.(map[string]any); ok && settings[name] == nil {
			objects[name] = nested(object)
		}
	}
	return objects
}

// begin validates and configures, and returns the errors about settings, each with its attribute.
func (s *settingScene) begin(settings map[string]any) []string {
	s.T.Helper()
	config := s.Dynamic(s.Schema.Provider, settings)
	validated, err := s.Server.ValidateProviderConfig(s.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
	providertest.NoError(s.T, err)
	if faults := settingFaults(validated.Diagnostics); len(faults) > 0 {
		return faults
	}
	configured, err := s.Server.ConfigureProvider(s.Context(), &tfprotov6.ConfigureProviderRequest{Config: config})
	providertest.NoError(s.T, err)
	return settingFaults(configured.Diagnostics)
}

func settingFaults(diags []*tfprotov6.Diagnostic) []string {
	var faults []string
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			faults = append(faults, fmt.Sprintf("%s: %s: %s", providertest.AttributeText(d.Attribute), d.Summary, d.Detail))
		}
	}
	return faults
}

// The functions below are what rows observe.

func (s *settingScene) first() sentRequest {
	s.CachedStatus(s.Context())
	return s.requests[0]
}

func (s *settingScene) platform() string { return s.first().platform }

// entry is the gateway by which a GSE object calls the platform.
func (s *settingScene) entry() string {
	first, in := s.first(), "nowhere"
	switch {
	case first.header.Get("X-Bkapi-Authorization") != "":
		in = "header"
	case first.body["bk_app_code"] != nil:
		in = "body"
	}
	return first.path + " with credentials in the " + in
}

// jobCall is the platform and the path that a JOB object calls, and cmdbCall that of a call to CMDB.
func (s *settingScene) jobCall() string {
	s.jobStatus(1)
	return s.requests[0].platform + s.requests[0].path
}

func (s *settingScene) cmdbCall() string {
	s.ReadData("bk_hosts", map[string]any{"bk_biz_id": 2, "topology": map[string]any{}})
	return s.requests[0].platform + s.requests[0].path
}

func (s *settingScene) jobStatus(hosts int) {
	_, said := s.ReadData("bk_job_process_status", map[string]any{"bk_biz_id": 2, "hosts": providertest.HostsOf(hosts), "process": map[string]any{
		"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "type": 1,
	}})
	providertest.Check(s.T, !said.Failed(), "%s", said)
}

// script is the call that runs the script that reads what an agent hosts, with its path and account.
func (s *settingScene) script() string { return s.scriptOf("linux") }

func (s *settingScene) windowsScript() string { return s.scriptOf("windows") }

func (s *settingScene) scriptOf(os any) string {
	_, said := s.ReadData("bk_hosted_specs", map[string]any{"namespace": "web", "hosts": providertest.HostsOf(1), "os": os})
	if len(s.requests) == 0 {
		return said.String()
	}
	body := s.requests[0].body
	if param, ok := body["script_param"].(string); ok {
		path, _ := base64.StdEncoding.DecodeString(param)
		return fmt.Sprintf("JOB %s %s %s:%s", path, body["account_alias"], body["bk_scope_type"], body["bk_scope_id"])
	}
	task, _ := body["atomic_tasks"].([]any)[0].(map[string]any)
	agent, _ := body["agents"].([]any)[0].(map[string]any)
	command := strings.Fields(fmt.Sprint(task["command"]))
	return fmt.Sprintf("gateway %s %s", command[len(command)-1], agent["user"])
}

func (s *settingScene) scripts() string {
	resource := s.CoreOf(providertest.HostedType, &providertest.Kept{})
	resource.Apply(providertest.HostedConfigOf(providertest.HostsOf(1)))
	s.sims["here"].ResetCalls()
	resource.Refresh()
	return fmt.Sprint(s.sims["here"].Calls().Count("async_execute_script"))
}

func members(names ...string) func(*settingScene) string {
	return func(s *settingScene) string {
		var found []string
		body := s.first().body
		for _, name := range names {
			if value, ok := body[name]; ok {
				found = append(found, fmt.Sprintf("%s=%v", name, value))
			}
		}
		return strings.Join(found, " ")
	}
}

func (s *settingScene) tenant() string { return s.first().header.Get("X-Bk-Tenant-Id") }

func (s *settingScene) register() {
	if _, said := s.CoreOf(providertest.HostedType, &providertest.Kept{}).Apply(providertest.HostedConfigOf(providertest.HostsOf(1))); said.Failed() {
		s.T.Error(said)
	}
}

// unreached reports whether a create lists a host whose agent does not answer as unreachable.
func (s *settingScene) unreached() string {
	for _, sim := range s.sims {
		sim.SetReachable(providertest.Address(2), false)
	}
	resource := s.CoreOf(providertest.HostedType, &providertest.Kept{})
	resource.Apply(providertest.HostedConfigOf(providertest.HostsOf(2)))
	return fmt.Sprint(len(resource.Reasons("unreachable")))
}

func (s *settingScene) suppliers() string {
	s.register()
	return s.everywhere("bk_supplier_id")
}

func (s *settingScene) labels() string {
	s.register()
	// The values of the fingerprint and of the owner do not matter here.
	return regexp.MustCompile(`v1-[0-9a-f]+|[A-Z2-7]{16}`).ReplaceAllString(s.everywhere("labels"), "…")
}

func (s *settingScene) everywhere(name string) string {
	values := make(map[string]bool)
	var look func(any)
	look = func(tree any) {
		switch tree := tree.(type) {
		case map[string]any:
			for member, value := range tree {
				if member == name {
					values[fmt.Sprint(value)] = true
				}
				look(value)
			}
		case []any:
			for _, element := range tree {
				look(element)
			}
		}
	}
	for _, request := range s.requests {
		look(request.body)
	}
	return strings.Join(slices.Sorted(maps.Keys(values)), " ")
}

// batches are the numbers of hosts per request, for five hosts, of GSE and of JOB.
func (s *settingScene) batches() string {
	s.Status(s.Context(), map[string]any{"spec": providertest.Spec("./start.sh"), "hosts": providertest.HostsOf(5)})
	s.jobStatus(5)
	sizes := func(api string) []int {
		var sizes []int
		for _, call := range s.sims["here"].Calls().Of(api) {
			sizes = append(sizes, len(call.Hosts))
		}
		slices.Sort(sizes) // requests are concurrent
		return sizes
	}
	return fmt.Sprintf("GSE %v, JOB %v", sizes("operate_proc_v2"), sizes("operate_process"))
}

// atOnce is how many of nine requests are in progress at the same time. The first ones wait for each
// other, and then a while for more than permitted.
func atOnce(want int) func(*settingScene) string {
	return func(s *settingScene) string {
		var (
			mu      sync.Mutex
			waiting int
			all     = make(chan struct{})
		)
		s.sims["here"].Inject(simulator.Fault{API: "operate_proc_v2", Delay: 20 * time.Millisecond})
		s.front = func(r *http.Request) {
			mu.Lock()
			if waiting++; waiting == want {
				close(all)
			}
			mu.Unlock()
			select {
			case <-all:
			case <-r.Context().Done():
			case <-time.After(10 * time.Second):
			}
		}
		s.Status(s.Context(), map[string]any{"spec": providertest.Spec("./start.sh"), "hosts": providertest.HostsOf(9)})
		return fmt.Sprint(s.peak)
	}
}

// rate is the limit in the provider's error that it cannot send a second request in time.
func (s *settingScene) rate() string {
	said := s.Status(s.Context(), map[string]any{
		"spec": providertest.Spec("./start.sh"), "hosts": providertest.HostsOf(2), "timeouts": map[string]any{"read": "50s"},
	})
	return firstMatch(`no request was allowed before the deadline at (\S+) requests`, said)
}

func (s *settingScene) tries() string {
	s.sims["here"].Inject(simulator.Fault{HTTPStatus: 503})
	s.CachedStatus(s.Context())
	return fmt.Sprint(len(s.requests))
}

func (s *settingScene) waits() string {
	s.sims["here"].Inject(simulator.Fault{HTTPStatus: 503})
	s.CachedStatus(s.Context())
	var waits []string
	for _, match := range regexp.MustCompile(`wait_ms=(\d+)`).FindAllStringSubmatch(s.log.String(), -1) {
		waits = append(waits, match[1])
	}
	return strings.Join(waits, " ")
}

func (s *settingScene) patience() string {
	s.sims["here"].Inject(simulator.Fault{Delay: time.Hour})
	return firstMatch(`no answer within ([\w.]*\w)`, s.CachedStatus(s.Context()))
}

func (s *settingScene) trust() string {
	said := s.CachedStatus(s.Context())
	if strings.Contains(said, "unregistered_count:1") {
		return "trusted"
	}
	return firstMatch(`(certificate signed by unknown authority)`, said)
}

func firstMatch(pattern, text string) string {
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		return "not said: " + text
	}
	return match[1]
}
