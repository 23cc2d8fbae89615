package gse

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// sampleRow has every member that a document gives a row.
const sampleRow = `{
  "meta": {"namespace": "gse", "name": "proc-test", "labels": {"proc_name": "proc-test"}},
  "host": {"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2},
  "flag": 1, "status": 1, "isauto": true, "message": "", "pid": 1234, "version": "1.0.1\n",
  "register_time": 1600000000, "last_start_time": 1600000001, "report_time": 1600000002,
  "cpu_usage": 1.5, "mem_usage": 0.5, "fd": 10, "disk": 0, "net": 0
}`

// quiet is a client that only reads rows.
var quiet = &Client{opts: procapi.Options{}.OrDefaults()}

func TestProcRow(t *testing.T) {
	t.Parallel()
	var (
		at     = "1:2:10.0.0.1"
		labels = map[string]string{"proc_name": "proc-test"}
		where  = `"host":{"ip":"10.0.0.1","bk_cloud_id":1,"bk_supplier_id":2}`
	)
	for name, test := range map[string]struct {
		row  string
		at   string // "" if the row names no host
		want fleet.Status
	}{
		"every-member": {sampleRow, at, fleet.Status{
			State: fleet.Running, Hosted: true, HostedKnown: true, Labels: labels, PID: 1234, Version: "1.0.1",
			CPUUsage: 1.5, MemUsage: 0.5, RegisterTime: 1600000000, StartTime: 1600000001,
		}},
		"numbers-as-text": {
			`{"host":{"ip":"10.0.0.1","bk_cloud_id":"1","bk_supplier_id":"2"},"status":"2","isauto":"0","pid":"-1","cpu_usage":"1.5","mem_usage":"0.5","register_time":"1600000000"}`, at,
			fleet.Status{State: fleet.Stopped, HostedKnown: true, PID: -1, CPUUsage: 1.5, MemUsage: 0.5, RegisterTime: 1600000000},
		},
		"unregistered":       {`{` + where + `,"status":0,"isauto":false}`, at, fleet.Status{State: fleet.Unregistered, HostedKnown: true}},
		"running":            {`{` + where + `,"status":1}`, at, fleet.Status{State: fleet.Running}},
		"stopped":            {`{` + where + `,"status":2}`, at, fleet.Status{State: fleet.Stopped}},
		"status-unexplained": {`{` + where + `,"status":7}`, at, fleet.Status{State: fleet.Unknown, Message: "the platform's row has status 7, which no document explains"}},
		"status-missing":     {`{` + where + `,"flag":1}`, at, fleet.Status{State: fleet.Unknown, Message: "the platform's row has no status"}},
		"status-null":        {`{` + where + `,"status":null}`, at, fleet.Status{State: fleet.Unknown, Message: "the platform's row has no status"}},
		// Another client of the platform sends its process id as a label that is a number.
		"labels-number": {`{` + where + `,"status":1,"meta":{"labels":{"bk_process_id":12,"none":null}}}`, at, fleet.Status{State: fleet.Running, Labels: map[string]string{"bk_process_id": "12", "none": ""}}},
		"no-supplier":   {`{"host":{"ip":"10.0.0.1","bk_cloud_id":1},"status":1}`, "1:9:10.0.0.1", fleet.Status{State: fleet.Running}},
		"ipv6":          {`{"host":{"ip":"2001:DB8::0:1","bk_cloud_id":0,"bk_supplier_id":0},"status":1}`, "0:0:[2001:db8::1]", fleet.Status{State: fleet.Running}},
		"ipv4-mapped":   {`{"host":{"ip":"::ffff:10.0.0.1","bk_cloud_id":0,"bk_supplier_id":0},"status":1}`, "0:0:10.0.0.1", fleet.Status{State: fleet.Running}},
		"no-host":       {`{"status":1}`, "", fleet.Status{State: fleet.Running}},
		"odd-ip":        {`{"host":{"ip":7,"bk_cloud_id":0},"status":1}`, "", fleet.Status{State: fleet.Running}},
		"no-cloud":      {`{"host":{"ip":"10.0.0.1"},"status":1}`, "", fleet.Status{State: fleet.Running}},
		"odd-cloud":     {`{"host":{"ip":"10.0.0.1","bk_cloud_id":"default area"},"status":1}`, "", fleet.Status{State: fleet.Running}},
		"half-a-cloud":  {`{"host":{"ip":"10.0.0.1","bk_cloud_id":0.9},"status":1}`, "", fleet.Status{State: fleet.Running}},
		"cloud-beside":  {`{"host":{"ip":"10.0.0.1"},"bk_agent_id":"1:10.0.0.1","status":1}`, "1:9:10.0.0.1", fleet.Status{State: fleet.Running}},
	} {
		var row procRow
		if err := json.Unmarshal([]byte(test.row), &row); err != nil {
			t.Fatal(name, err)
		}
		if h, ok := row.host(9); ok != (test.at != "") || ok && h.String() != test.at {
			t.Errorf("%s: host: got %s, %t, want %q", name, h, ok, test.at)
		}
		procapitest.WantEqual(t, name+" status", test.want, quiet.statusOf(row))
	}
}

func FuzzProcRow(f *testing.F) {
	for _, seed := range []string{
		sampleRow, `{"status":"1","isauto":"True"}`, `{"host":{"ip":"::ffff:10.0.0.1","bk_cloud_id":1e999},"status":1.5}`,
		`{"meta":{"labels":{"a":1}},"status":null,"cpu_usage":"nan"}`, `{"meta":[],"host":"10.0.0.1"}`, `[]`, `null`,
		`{"bk_agent_id":"0200000007525400f355781710390005465c","host":{"bk_agent_id":7},"status":2}`,
	} {
		f.Add([]byte(`{"count":1,"proc_infos":[` + seed + `]}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var page statusAnswer
		if err := json.Unmarshal(raw, &page); err != nil {
			t.Skip()
		}
		for _, row := range page.ProcInfos.rows {
			procapitest.WantSound(t, quiet.statusOf(row))
			if h, ok := row.host(0); ok && !h.IP().IsValid() {
				t.Errorf("host %s without an IP", h)
			}
			if h, ok := row.agent(); ok && h.AgentID() == "" {
				t.Errorf("host %s without an agent id", h)
			}
		}
	})
}

func TestCachedStatus(t *testing.T) {
	t.Parallel()
	var (
		running = fleet.Status{State: fleet.Running}
		stopped = fleet.Status{State: fleet.Stopped}
		absent  = fleet.Status{State: fleet.Unregistered}
		unread  = fleet.Status{State: fleet.Unknown, Unread: true, Message: "the cached status could not be read"}
	)
	for name, test := range map[string]struct {
		step exchange
		want map[int]fleet.Status
	}{
		"rows":             {cached(cachedRow(2, 2), cachedRow(1, 1)), map[int]fleet.Status{1: running, 2: stopped}},
		"no-row":           {cached(cachedRow(1, 1)), map[int]fleet.Status{1: running, 2: absent}},
		"no-rows":          {cached(), map[int]fleet.Status{1: absent, 2: absent}},
		"null":             {exchange{API: apiStatus, Reply: procapitest.Data("null")}, map[int]fleet.Status{1: absent, 2: absent}},
		"one-object":       {exchange{API: apiStatus, Reply: procapitest.Data(`{"proc_infos":` + cachedRow(1, 1) + `}`)}, map[int]fleet.Status{1: running, 2: absent}},
		"no-namespace":     {cached(strings.Replace(cachedRow(1, 1), `"namespace":"gse",`, "", 1), cachedRow(2, 1)), map[int]fleet.Status{1: unread, 2: running}},
		"no-name":          {cached(strings.Replace(cachedRow(1, 1), `,"name":"proc-test"`, "", 1), cachedRow(2, 1)), map[int]fleet.Status{1: unread, 2: running}},
		"broken-row":       {cached(`{"meta":7,"host":[]}`, `3`, cachedRow(2, 1)), map[int]fleet.Status{1: unread, 2: running}},
		"no-list":          {exchange{API: apiStatus, Reply: procapitest.Data(`{"proc_infos":"none"}`)}, map[int]fleet.Status{1: unread, 2: unread}},
		"another-host":     {cached(cachedRow(1, 1), cachedRow(9, 2)), map[int]fleet.Status{1: running, 2: absent}},
		"another-process":  {cached(strings.Replace(cachedRow(1, 1), "proc-test", "proc", 1)), map[int]fleet.Status{1: absent, 2: absent}},
		"another-space":    {cached(strings.Replace(cachedRow(1, 1), `"gse"`, `"gse2"`, 1)), map[int]fleet.Status{1: absent, 2: absent}},
		"another-supplier": {cached(strings.Replace(cachedRow(1, 1), `"bk_cloud_id":0`, `"bk_cloud_id":0,"bk_supplier_id":5`, 1)), map[int]fleet.Status{1: running, 2: absent}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := scripted(t, "esb", test.step)
			got, err := p.CachedStatus(t.Context(), hosts(2))
			if err != nil {
				t.Fatal(err)
			}
			wantStatuses(t, test.want, got)
		})
	}
}

func wantStatuses(t *testing.T, want map[int]fleet.Status, got map[fleet.Host]fleet.Status) {
	t.Helper()
	procapitest.WantEqual(t, "statuses", want, procapitest.ByNumber(got))
}

// If one batch fails, no status is returned: a host that was not asked about must not look unregistered.
func TestCachedStatus_fails(t *testing.T) {
	t.Parallel()
	p, _ := configured(t, "esb", func(_ *bkapi.Config, opts *procapi.Options) { opts.MaxHosts = 1 },
		cached(cachedRow(1, 1)), exchange{API: apiStatus, Reply: refusal(1306000)})
	if got, err := p.CachedStatus(t.Context(), hosts(2)); got != nil || !bkapi.HasCode(err, 1306000) {
		t.Errorf("got %v, %v, want the error alone", got, err)
	}
}

func answered(n int, instance string) []string {
	return []string{v2(n), `{"error_code":0,"error_msg":"success","content":` + asText(one(instance)) + `}`}
}

func TestLiveStatus(t *testing.T) {
	t.Parallel()
	up := fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 42}
	first, second := answered(1, `{"pid":42,"isAuto":true}`), answered(2, `{"pid":42,"isAuto":true}`)
	besides := `{"process":[{"procname":"proc-test","instance":[{"pid":42,"isAuto":true}]},{"procname":"redis","instance":[{"pid":99,"isAuto":false}]}]}`
	for name, test := range map[string]struct {
		steps []exchange
		want  map[int]fleet.Status
	}{
		"answered":  {[]exchange{accepted, result(said(append(first, second...)...))}, map[int]fleet.Status{1: up, 2: up}},
		"resent":    {[]exchange{{API: apiOperate, Reply: procapitest.Gone}, accepted, result(said(append(first, second...)...))}, map[int]fleet.Status{1: up, 2: up}},
		"one-fails": {[]exchange{accepted, result(said(append(first, v2(2), code(117))...))}, map[int]fleet.Status{1: up, 2: {State: fleet.Unknown, Code: 117, Message: "the agent is abnormal or not found: message 117", Away: true}}},
		// 828 and 829 are answers to operations; for a query they mean nothing.
		"odd-success":   {[]exchange{accepted, result(said(append(first, v2(2), code(829))...))}, map[int]fleet.Status{1: up, 2: {State: fleet.Unknown, Code: 829, Message: "the process is not running: message 829", Refused: true}}},
		"odd-content":   {[]exchange{accepted, result(said(append(first, v2(2), code(0))...))}, map[int]fleet.Status{1: up, 2: {State: fleet.Unknown, Message: "the agent's answer is not JSON", Unread: true}}},
		"several-names": {[]exchange{accepted, result(said(append(first, v2(2), `{"error_code":0,"content":`+asText(besides)+`}`)...))}, map[int]fleet.Status{1: up, 2: up}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := configured(t, "esb", retrying(1), test.steps...)
			got, err := p.LiveStatus(t.Context(), hosts(2))
			if err != nil {
				t.Fatal(err)
			}
			wantStatuses(t, test.want, got)
		})
	}
}

// The cached status lags, so the agent's answer counts.
//
// Promised in how-it-works.md: The cached status raises a suspicion, and the agent confirms it.
func TestFlow_lag(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p := simAt(t, "esb", sim, 0)
	want := fleet.Desired{Ensure: fleet.EnsureRunning, Labels: sampleMeta.Labels, HasSpec: true}
	sim.FreezeStatus()
	wantDone(t, fleet.NewReconciliation(p, want, fleet.Change{Register: hosts(2), Order: hosts(2)}).Run(t.Context()))
	sim.SetReachable(host(1).Address(), false)
	sim.ResetCalls()
	report, err := fleet.Inspect(t.Context(), p, hosts(2), want, nil, nil)
	if _, away := report.Unreachable[host(1)]; err != nil || !away || len(report.Unreachable) > 1 || len(report.Drift) > 0 {
		t.Errorf("got %+v, %v, want host 1 to be unreachable, and no drift: the file is old", report, err)
	}
	procapitest.WantEqual(t, "calls", []string{apiStatus, apiOperate, apiResult}, slices.Compact(sim.Calls().APIs()))
}

// This fixes the form of the fingerprint. A change makes every host of every user look changed, and
// needs another fleet.FingerprintVersion. What is sent only with operations, OpTimeout, does not count.
func TestSpec_fingerprintGolden(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec      *Spec
		labels    map[string]string
		canonical string
		want      string
	}{
		"full": {
			sampleSpec(), sampleMeta.Labels,
			`{"labels":{"proc_name":"proc-test"},"spec":{"configmap":[{"md5":"","path":""}],` +
				`"control":{"health_cmd":"./health.sh","kill_cmd":"./kill.sh","reload_cmd":"./reload.sh","restart_cmd":"./restart.sh",` +
				`"start_cmd":"./start.sh","stop_cmd":"./stop.sh","version_cmd":"./version.sh"},` +
				`"identity":{"config_path":"/data/gsetest/proc-test.conf","index_key":"","log_path":"/data/gsetest/logs/",` +
				`"pid_path":"/data/gsetest/proc-test.pid","proc_name":"proc-test","setup_path":"/data/gsetest/","user":"root"},` +
				`"monitor_policy":{"auto_type":1,"crontab_rule":"","start_check_secs":5,"start_interval":20,"start_retries":3,"stop_check_secs":5},` +
				`"resource":{"cpu":10,"disk":100,"fd":10000,"mem":10,"net":0},"warn_report_policy":{"report_id":0}}}`,
			"v1-fc999435bf64c718",
		},
		"minimal": {
			minimalSpec(), nil,
			`{"labels":{},"spec":{"control":{},"identity":{"pid_path":"/run/nginx.pid","proc_name":"nginx","setup_path":"/usr/sbin","user":"root"},` +
				`"monitor_policy":{"auto_type":0},"resource":{"cpu":30,"mem":12.5}}}`,
			"v1-1f30f7ac62bd7de1",
		},
		"unlimited": {
			unlimitedSpec(), nil,
			`{"labels":{},"spec":{"control":{},"identity":{"pid_path":"/run/nginx.pid","proc_name":"nginx","setup_path":"/usr/sbin","user":"root"},` +
				`"monitor_policy":{"auto_type":0}}}`,
			"v1-8707758e070ead43",
		},
	} {
		got, err := fleet.Fingerprint(test.spec, test.labels)
		sum := sha256.Sum256([]byte(test.canonical))
		documented := fleet.FingerprintVersion + hex.EncodeToString(sum[:])[:16]
		if err != nil || got != test.want || got != documented {
			t.Errorf("%s: got %s, %v, want %s, and the canonical form has %s", name, got, err, test.want, documented)
		}
	}
}

// Unset values take the documented times.
func TestSpec_Settles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec           *Spec
		command, check time.Duration
	}{
		"no-spec": {nil, 60 * time.Second, 5 * time.Second},
		"not-set": {&Spec{}, 60 * time.Second, 5 * time.Second},
		"set":     {&Spec{OpTimeout: new(int64(7)), MonitorPolicy: MonitorPolicy{StartCheckSecs: new(int64(30))}}, 7 * time.Second, 30 * time.Second},
	} {
		if command, check := c.spec.Settles(); command != c.command || check != c.check {
			t.Errorf("%s: got %s and %s, want %s and %s", name, command, check, c.command, c.check)
		}
	}
}
