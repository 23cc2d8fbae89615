package procapi

import (
	"strconv"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// one is the content of a query about one instance.
func one(instance string) string {
	return `{"ip":"10.0.0.1","utctime":"2020-01-01 00:00:00","timezone":8,"process":[{"procname":"nginx","instance":[` + instance + `]}]}`
}

// asText is a JSON document inside a JSON string, as the platform sends it.
func asText(document string) string { return strconv.Quote(document) }

// contentOf is the content of a result that spells it as raw does.
func contentOf(raw []byte) string {
	var content Text
	_ = content.UnmarshalJSON(raw)
	return string(content)
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	up := fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 42}
	full := `{
	   "cmdline" : "/usr/sbin/nginx -g \"daemon off;\"",
	   "processName" : "nginx", "version" : "1.25.3\n", "health" : "", "isAuto" : true,
	   "cpuUsage" : 1.5, "cpuUsageAve" : 1.25, "phyMemUsage" : 0.5, "usePhyMem" : 1024, "diskSize" : -1,
	   "pid" : 42, "startTime" : "Wed", "stat" : "S", "utime" : "12", "stime" : "3", "threadCount" : 2,
	   "elapsedTime" : 99, "register_time" : 1600000000, "last_start_time" : 1600000001, "report_time" : 1600000002
	}`
	fullStatus := fleet.Status{
		State: fleet.Running, Hosted: true, HostedKnown: true, PID: 42, Version: "1.25.3",
		CPUUsage: 1.5, MemUsage: 0.5, RegisterTime: 1600000000, StartTime: 1600000001,
	}
	// What could not be understood is not quoted: it has figures that differ each time, and the start command.
	for name, test := range map[string]struct {
		content string
		want    fleet.Status
	}{
		"text-with-newlines":  {asText(one(full)), fullStatus},
		"object":              {one(full), fullStatus},
		"text-with-spaces":    {asText("\n  " + one(full) + "\n"), fullStatus},
		"process-object":      {asText(`{"process":{"procname":"nginx","instance":[{"pid":42,"isAuto":true}]}}`), up},
		"instance-object":     {asText(`{"process":[{"instance":{"pid":42,"isAuto":true}}]}`), up},
		"both-objects":        {`{"process":{"instance":{"pid":42,"isAuto":true}}}`, up},
		"is-auto-lower":       {one(`{"pid":42,"isauto":true}`), up},
		"is-auto-snake":       {one(`{"pid":42,"is_auto":true}`), up},
		"is-auto-number":      {one(`{"pid":42,"isAuto":1}`), up},
		"is-auto-text":        {one(`{"pid":42,"isAuto":"True"}`), up},
		"is-auto-false":       {one(`{"pid":42,"isAuto":false}`), fleet.Status{State: fleet.Running, HostedKnown: true, PID: 42}},
		"is-auto-zero":        {one(`{"pid":42,"isAuto":"0"}`), fleet.Status{State: fleet.Running, HostedKnown: true, PID: 42}},
		"is-auto-missing":     {one(`{"pid":42}`), fleet.Status{State: fleet.Running, PID: 42}},
		"is-auto-null":        {one(`{"pid":42,"isAuto":null}`), fleet.Status{State: fleet.Running, PID: 42}},
		"is-auto-odd":         {one(`{"pid":42,"isAuto":"perhaps"}`), fleet.Status{State: fleet.Running, PID: 42}},
		"numbers-as-text":     {one(`{"pid":"42","isAuto":"1","cpuUsage":"1.5","phyMemUsage":" 0.5 ","register_time":"1600000000","last_start_time":"1600000001","version":"1.25.3"}`), fullStatus},
		"numbers-unreadable":  {one(`{"pid":42,"isAuto":true,"cpuUsage":"n/a","phyMemUsage":null,"register_time":{}}`), up},
		"numbers-not-finite":  {one(`{"pid":42,"isAuto":true,"cpuUsage":"nan","phyMemUsage":"-Inf","register_time":1e999}`), up},
		"version-number":      {one(`{"pid":42,"isAuto":true,"version":2}`), fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 42, Version: "2"}},
		"version-lines":       {one(`{"pid":42,"isAuto":true,"version":"\n v1.2 \r\nbuilt today\n"}`), fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 42, Version: "v1.2"}},
		"health-lines":        {one(`{"pid":42,"isAuto":true,"health":"\n ok \r\nall 3 ports\n"}`), fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 42, Health: "ok \nall 3 ports"}},
		"health-empty":        {one(`{"pid":42,"isAuto":true,"health":"  "}`), up},
		"health-null":         {one(`{"pid":42,"isAuto":true,"health":null}`), up},
		"health-number":       {one(`{"pid":42,"isAuto":true,"health":0}`), fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 42, Health: "0"}},
		"pid-minus-one":       {one(`{"pid":-1,"isAuto":true}`), fleet.Status{State: fleet.Stopped, Hosted: true, HostedKnown: true, PID: -1}},
		"pid-zero":            {one(`{"pid":0,"isAuto":true}`), fleet.Status{State: fleet.Stopped, Hosted: true, HostedKnown: true}},
		"pid-one":             {one(`{"pid":1,"isAuto":true}`), fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 1}},
		"pid-beyond-integers": {one(`{"pid":1e300,"isAuto":true}`), fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 1 << 53}},
		"several-one-up":      {one(`{"pid":-1,"isAuto":false},{"pid":42,"isAuto":true},{"pid":-1,"isAuto":false}`), up},
		"several-all-down":    {one(`{"pid":-1,"isAuto":true},{"pid":-1,"isAuto":false}`), fleet.Status{State: fleet.Stopped, Hosted: true, HostedKnown: true, PID: -1}},
		"several-one-broken":  {one(`{"pid":null,"isAuto":true},{"pid":-1,"isAuto":false},7`), fleet.Status{State: fleet.Stopped, Hosted: true, HostedKnown: true, PID: -1}},
		"several-one-hosted":  {one(`{"pid":-1,"isAuto":false},{"pid":-1,"isAuto":true}`), fleet.Status{State: fleet.Stopped, Hosted: true, HostedKnown: true, PID: -1}},
		"several-names": {
			`{"process":[{"procname":"nginx","instance":[{"pid":-1,"isAuto":true}]},{"procname":"redis","instance":[{"pid":99,"isAuto":false}]}]}`,
			fleet.Status{State: fleet.Stopped, Hosted: true, HostedKnown: true, PID: -1},
		},
		"several-names-not-lists": {
			`{"process":[{"procname":"nginx","instance":{"pid":-1,"isAuto":true}},{"procname":"redis","instance":{"pid":99,"isAuto":false}}]}`,
			fleet.Status{State: fleet.Stopped, Hosted: true, HostedKnown: true, PID: -1},
		},
		"several-others": {
			`{"process":[{"procname":"mysql","instance":[{"pid":-1}]},{"procname":"redis","instance":[{"pid":99}]}]}`,
			fleet.Status{State: fleet.Unknown, Message: "the agent's answer is about other processes"},
		},
		"another-name":      {`{"process":[{"procname":"java","instance":[{"pid":42,"isAuto":true}]}]}`, up},
		"several-processes": {`{"process":[{"instance":[{"pid":-1}]},{"instance":[{"pid":42,"isAuto":true}]}]}`, up},

		"empty-text":       {`""`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer is not JSON"}},
		"null":             {`null`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer is not JSON"}},
		"missing":          {``, fleet.Status{State: fleet.Unknown, Message: "the agent's answer is not JSON"}},
		"truncated":        {asText(`{"process":[{"insta`), fleet.Status{State: fleet.Unknown, Message: "the agent's answer is not JSON"}},
		"words":            {asText("redis\treply  is\nnot string"), fleet.Status{State: fleet.Unknown, Message: "the agent's answer is not JSON"}},
		"list":             {`[1]`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer is not JSON"}},
		"empty-object":     {`{}`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer names no instance with a pid"}},
		"no-process":       {`{"process":[]}`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer names no instance with a pid"}},
		"process-null":     {`{"process":null}`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer names no instance with a pid"}},
		"process-text":     {`{"process":"gone"}`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer names no instance with a pid"}},
		"no-instance":      {`{"process":[{"instance":[]}]}`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer names no instance with a pid"}},
		"instance-null":    {`{"process":[{"instance":null}]}`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer names no instance with a pid"}},
		"no-pid":           {`{"process":[{"instance":[{}]}]}`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer names no instance with a pid"}},
		"pid-unreadable":   {`{"process":[{"instance":[{"pid":"-"}]}]}`, fleet.Status{State: fleet.Unknown, Message: "the agent's answer names no instance with a pid"}},
		"of-an-operation":  {asText(`{"value":[{"procName":"nginx","result":"","isAuto":true}]}`), fleet.Status{State: fleet.Unknown, Message: "the agent's answer names no instance with a pid"}},
		"text-within-text": {asText(asText(one(full))), fleet.Status{State: fleet.Unknown, Message: "the agent's answer is not JSON"}},
	} {
		procapitest.WantEqual(t, name, test.want, parseStatus(contentOf([]byte(test.content)), "nginx", bkapi.Printable))
	}
}

func FuzzParseStatus(f *testing.F) {
	for _, seed := range []string{
		one(`{"pid":42,"isAuto":true,"cpuUsage":1.5,"version":"1"}`), asText(one(`{"pid":-1}`)), `null`, `""`, ``, `{"process":{"instance":{"pid":"1e999"}}}`,
		`{"process":[null,[],{"instance":[[],null,{"pid":"nan"}]}]}`, asText(`{"process":[{"insta`), `[1]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		status := parseStatus(contentOf(content), "nginx", bkapi.Printable)
		procapitest.WantSound(t, status)
		if status.State == fleet.Running && status.PID <= 0 {
			t.Errorf("running with pid %d", status.PID)
		}
	})
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", excerptBytes)
	for name, test := range map[string]struct{ text, want string }{
		"empty":             {"", ""},
		"short":             {" a\n\tb  c ", "a b c"},
		"as-long-as-may-be": {long, long},
		"too-long":          {long + "a", long + "…"},
		"cut-in-a-rune":     {long[1:] + "进程", long[1:] + "…"},
		"not-utf-8":         {"a\xffb", "a\uFFFDb"},
	} {
		if got := excerpt(test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
