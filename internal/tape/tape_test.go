package tape

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/canary"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

var update = flag.Bool("update", false, "write testdata/goldens.jsonl and goldens.txt")

type said struct {
	Path, Query       string
	Header            bool
	Request, Response json.RawMessage
	Status            int
	// headers and gzip are set by single tests; body, if set, is the whole answer.
	headers map[string]string
	body    string
	gzip    bool
}

// recordAll sends each request through a recorder to a platform that answers as given, and returns the
// tape. It fails the test if the platform or the client did not get what the other one sent.
func recordAll(t *testing.T, all []said, secrets ...string) string {
	t.Helper()
	var now said
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		simtest.Check(t, string(body) == string(now.Request) && r.URL.Path == "/base"+now.Path && r.URL.RawQuery == now.Query,
			"the platform was sent %s?%s %s", r.URL.Path, r.URL.RawQuery, body)
		for name, value := range now.headers {
			got := r.Header[name]
			simtest.Check(t, len(got) == 1 && got[0] == value, "the platform got %s: %q", name, got)
		}
		if r.Header.Get("Accept-Encoding") != "" || now.headers["X-Forwarded-For"] == "" && r.Header.Get("X-Forwarded-For") != "" {
			t.Errorf("the platform was sent headers that the client did not send: %v", r.Header)
		}
		if now.gzip {
			w.Header().Set("Content-Encoding", "gzip")
		}
		w.Header().Set("Set-Cookie", "session="+canary.Begin)
		w.WriteHeader(now.Status)
		_, _ = w.Write(now.answer())
	}))
	defer platform.Close()
	target, _ := url.Parse(platform.URL + "/base")
	var out bytes.Buffer
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	recorder, err := NewRecorder(target, transport, &out, func(text string) { t.Error(text) }, secrets...)
	simtest.Must(t, err)
	proxy := httptest.NewServer(recorder)
	defer proxy.Close()
	for _, now = range all {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, proxy.URL+now.Path+"?"+now.Query, bytes.NewReader(now.Request))
		simtest.Must(t, err)
		if now.Header {
			r.Header.Set("X-Bkapi-Authorization", `{"bk_app_code":"nodeman","bk_app_secret":"hidden-secret"}`)
		}
		for name, value := range now.headers {
			r.Header[name] = []string{value}
		}
		answer, err := transport.RoundTrip(r)
		simtest.Must(t, err)
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		simtest.Check(t, answer.StatusCode == now.Status && bytes.Equal(body, now.answer()), "the client got %d %q", answer.StatusCode, body)
	}
	if count, err := recorder.Count(); count != len(all) || err != nil {
		t.Errorf("%d exchanges of %d are on the tape: %v", count, len(all), err)
	}
	return out.String()
}

func (s said) answer() []byte {
	body := []byte(s.body)
	if s.body == "" {
		body = s.Response
	}
	if !s.gzip {
		return body
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(body)
	_ = w.Close()
	return packed.Bytes()
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/goldens.json")
	simtest.Must(t, err)
	var all []said
	simtest.Must(t, json.Unmarshal(text, &all))
	exchanges, err := Parse("tape", []byte(recordAll(t, all)))
	simtest.Must(t, err)
	tape, _ := line(header{Format})
	for i := range exchanges {
		exchanges[i].At, exchanges[i].Took = int64(i), 1
		text, _ := line(exchanges[i])
		tape = append(tape, text...)
	}
	for _, original := range []string{
		"127.0.0.1", "172.23.8.91", "10.77.1.2", "fd12:3456", "02000000005254", "sub_870", "host_exp", "nodeman\"", "nginx", "bkunify", "gse2_cloud", "external_plugins",
		"zone", "zone-eu", "start.sh", "GSETASK", "O2:", "730551", "884422", "871234", "web-eu", "operator7", "hidden-secret", "agent-pwd", "corp-prefix", "GSEKIT", "root@", "82db2b", "centos",
	} {
		simtest.Check(t, !bytes.Contains(tape, []byte(original)), "%q is on the tape", original)
	}
	report := Report{Version: "dev", Rows: Play(exchanges, &simulator.Server{})}.String()
	for file, got := range map[string]string{"testdata/goldens.jsonl": string(tape), "testdata/goldens.txt": report} {
		if *update {
			simtest.Must(t, os.WriteFile(file, []byte(got), 0o600))
		}
		want, err := os.ReadFile(file)
		simtest.Check(t, err == nil && string(want) == got, "%s differs (%v); see the difference with -update:\n%s", file, err, got)
	}
}

// Promised in your-platform.md: No secret gets onto a tape, in whatever encoding.
func TestRecorder_keepsSecretsOff(t *testing.T) {
	t.Parallel()
	secret, _ := json.Marshal(canary.Secret)
	token, _ := json.Marshal(canary.Token)
	nested, _ := json.Marshal(`{"a":[{"password":` + string(secret) + `,"note":` + string(token) + `}]}`)
	base := base64.StdEncoding.EncodeToString([]byte("user:" + canary.Secret))
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	answer := raw(`{"code":0}`)
	all := []said{
		{Path: "/api/v2/proc/a", Request: raw(`{}`), Response: answer, headers: map[string]string{"X-Bkapi-Authorization": `{"bk_app_secret":` + string(secret) + `}`, "X-Forwarded-For": "10.1.2.3"}},
		{Path: "/api/v2/proc/a", Request: raw(`{}`), Response: answer, headers: map[string]string{"Authorization": "Basic " + base, "Cookie": "bk_token=" + canary.Begin, "User-Agent": canary.End}},
		{Path: "/api/v2/proc/a", Query: "bk_token=" + url.QueryEscape(canary.Token) + "&x=" + url.QueryEscape(canary.Secret) + "&" + canary.Begin + "=1", Request: raw(`{}`), Response: answer},
		{Path: "/api/c/compapi/v2/gse/a/", Request: raw(`{"bk_app_code":"c","bk_app_secret":` + string(secret) + `,"bk_token":` + string(token) + `,"access_token":["` + canary.Begin + `"]}`), Response: answer},
		{Path: "/api/c/compapi/v2/gse/a/", Request: raw(`{"content":` + string(nested) + `,"unknown":` + string(token) + `}`), Response: raw(`{"message":` + string(secret) + `,"data":{` + string(secret) + `:1,"x:` + canary.Begin + `:y":{"error_msg":"` + url.QueryEscape(canary.Secret) + `"}}}`)},
		{Path: "/api/c/compapi/v2/gse/a/", Request: raw(`{"spec":{"control":{"start_cmd":"./run --token ` + base + `"}},"meta":{"labels":{"` + canary.Begin + `":"` + canary.End + `"},"name":"` + canary.Begin + `"}}`), Response: raw(`{"message":"` + base + `","` + canary.Begin + `":{"name":1}}`), gzip: true},
		{Path: "/api/" + canary.Begin + "/x", Request: raw(`not JSON ` + canary.Secret), body: "<html>" + url.QueryEscape(canary.Secret) + " " + base + "</html>"},
		{Path: "/corp/api/v2/" + canary.Begin + "/730551/list", Request: raw(`{}`), Response: answer},
		{Path: "/api/v2/proc/a", Request: raw(`{}`), Response: raw(`{"message":"for agent process, %61gent%20process","data":"YWdlbnQgcHJvY2Vzcw=="}`)},
	}
	for plain, one := range map[string]said{ // a plain word, so only its place shows that it is a secret
		"database":     {headers: map[string]string{"X-Bkapi-Authorization": `{"access_token":"database"}`}},
		"memory":       {headers: map[string]string{"Cookie": "session=memory"}},
		"unauthorized": {headers: map[string]string{"Authorization": "Bearer unauthorized"}},
		"interface":    {Query: "access_token=interface"},
		"unregistered": {Request: raw(`{"bk_token":"unregistered"}`)},
		"successfully": {Request: raw(`{"content":"{\"password\":\"successfully\"}"}`)},
		"verification": {Response: raw(`{"token":"verification","message":"plain verification"}`)},
	} {
		one.Path = "/api/v2/proc/a"
		if one.Request == nil {
			one.Request = raw(`{}`)
		}
		if one.Response == nil {
			one.Response = raw(`{"message":"plain ` + plain + `"}`)
		}
		all = append(all, one)
	}
	for i := range all {
		all[i].Status = http.StatusOK
	}
	tape := recordAll(t, all, "agent process", canary.Secret, canary.Token, canary.Begin)
	for _, found := range canary.In(tape) {
		t.Errorf("on the tape: %s", found)
	}
	simtest.Want(t, "secrets of one word that are not on the tape", strings.Count(tape, `{"message":"word3 ***"`), 7)
	simtest.WantIn(t, "tape", tape, `"path":"/api/v2/***/1001/list"`)
	if strings.Contains(tape, "agent process") || strings.Contains(tape, "%61gent") || strings.Contains(tape, "YWdlbn") || !strings.Contains(tape, `"message":"for ***, ***"`) {
		t.Errorf("a secret of plain words is on the tape: %s", tape)
	}
	_, err := Parse("tape", []byte(tape))
	simtest.Must(t, err)
}

// A browser of this machine can be made to call the recorder. What a web page sends is neither forwarded nor recorded.
func TestRecorder_refusesPages(t *testing.T) {
	t.Parallel()
	called := 0
	platform := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called++ }))
	defer platform.Close()
	target, _ := url.Parse(platform.URL)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	recorder, err := NewRecorder(target, transport, io.Discard, func(text string) { t.Error(text) })
	simtest.Must(t, err)
	for name, c := range map[string]struct {
		host   string
		header http.Header
		want   int
	}{
		"program":     {"127.0.0.1:8092", nil, http.StatusOK},
		"localhost":   {"localhost", nil, http.StatusOK},
		"six":         {"[::1]:8092", nil, http.StatusOK},
		"origin":      {"127.0.0.1:8092", http.Header{"Origin": {"https://evil.example"}}, http.StatusForbidden},
		"form":        {"127.0.0.1:8092", http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		"other-name":  {"evil.example:8092", nil, http.StatusForbidden},
		"other-place": {"10.0.0.1", nil, http.StatusForbidden},
	} {
		before, answer := called, httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+c.host+"/api/v2/proc/a", strings.NewReader("{}"))
		maps.Copy(r.Header, c.header)
		recorder.ServeHTTP(answer, r)
		simtest.Want(t, name, answer.Code, c.want)
		simtest.Want(t, name+": forwarded", called > before, c.want == http.StatusOK)
	}
	count, err := recorder.Count()
	simtest.Must(t, err)
	simtest.Want(t, "recorded", count, 3)
}

// The same value has the same pseudonym everywhere, of the same form.
func TestDisguise(t *testing.T) {
	t.Parallel()
	d := newDisguise()
	in, _ := decode(`{"hosts":[{"ip":"10.1.2.3","bk_cloud_id":7},{"ip":"fd00::5"}],"agent_id_list":["0200aAbB-0052-54","11:10.1.2.3"],"bk_biz_id":730551,"bk_scope_id":"730551",
		"code":1000115,"bk_supplier_id":3,"pid":4711,"register_time":1782360282,"phone":4915112345678,"ok":true,"none":null,"load":0.25,
		"meta":{"namespace":"ops","name":"shop:web","labels":{"team":"sre"}},
		"data":{"7:3:10.1.2.3:ops:shop:web":{"error_msg":"shop is running on 10.1.2.3, not on fd00::5"},"0200aAbB-0052-54:ops:shop:web":1,"0:0:fd00::5:ops:shop:web":2},
		"screen":"hello\nbk-hosted begin\n{\"startCmd\":\"./web\"}","start_cmd":"./web --team sre","message":"./web --team sre"}`)
	got, _ := line(d.value("", in))
	want := `{"agent_id_list":["0000aAaA-0000-01","11:198.18.0.1"],"bk_biz_id":1001,"bk_scope_id":"1001","bk_supplier_id":3,"code":1000115,` +
		`"data":{"0000aAaA-0000-01:process1:process2:process3":1,"0:0:2001:db8::1:process1:process2:process3":2,"7:3:198.18.0.1:process1:process2:process3":{"error_msg":"process2 is running on 198.18.0.1, not on 2001:db8::1"}},` +
		`"hosts":[{"bk_cloud_id":7,"ip":"198.18.0.1"},{"ip":"2001:db8::1"}],"load":0.25,"message":"./process3 word1 word2",` +
		`"meta":{"labels":{"label1":"word2"},"name":"process2:process3","namespace":"process1"},"none":null,"ok":true,"phone":1002,"pid":4711,"register_time":1782360282,"screen":"command1","start_cmd":"command2"}` + "\n"
	simtest.Want(t, "disguised", string(got), want)
	seen := make(map[string]bool)
	for i := range 300 {
		id := strings.Repeat("0", 13) + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10))
		addr := netip.AddrFrom4([4]byte{10, 3, byte(i / 256), byte(i % 256)})
		seen[d.agent(id)], seen[d.address(addr)] = true, true
	}
	simtest.Want(t, "pseudonyms for 600 values", len(seen), 600)
}

// Promised in your-platform.md: Other numbers of at most 7 digits stay
//
// An id that is known has the same pseudonym in a message, in whatever line.
func TestDisguise_idsInMessages(t *testing.T) {
	t.Parallel()
	d := newDisguise()
	in, _ := decode(`{"bk_biz_id":20051,"bk_host_id":30077,"message":"business 20051 host 30077. code 1000115, not 4711"}`)
	got, _ := line(d.value("", in))
	simtest.Want(t, "disguised", string(got), `{"bk_biz_id":1001,"bk_host_id":1002,"message":"business 1001 host 1002. code 1000115, not 4711"}`+"\n")
	simtest.Want(t, "in a later text", d.text("[30077]"), "[1002]")
	in, _ = decode(`{"bk_biz_id":3,"bk_host_id":115,"bk_cloud_id":"3","error_code":"115","op_type":"3","bk_set_id":"3","message":"code 115: agent 3:10.0.0.1"}`)
	got, _ = line(d.value("", in))
	want := `{"bk_biz_id":1003,"bk_cloud_id":"3","bk_host_id":1004,"bk_set_id":"1003","error_code":"115","message":"code 115: agent 3:198.18.0.1","op_type":"3"}`
	simtest.Want(t, "short ones", string(got), want+"\n")
}

func TestParse_refuses(t *testing.T) {
	t.Parallel()
	first, good := `{"tape":1}`+"\n", `{"at_ms":0,"took_ms":1,"method":"POST","path":"/a","status":200}`+"\n"
	for name, test := range map[string]struct{ text, want string }{
		"empty":        {"", `f:1: the file is empty; want {"tape":1}`},
		"no header":    {good, "f:1: this is not the first line of a tape"},
		"later format": {`{"tape":2}`, "f:1: this is not the first line of a tape that this release reads"},
		"no exchange":  {first, "f:1: there is no exchange; record again"},
		"member":       {first + "\n" + `{"staus":1}`, `f:3: "staus" is not a member of an exchange; want at_ms,`},
		"type":         {first + `{"status":"ok"}`, "f:2: status is a JSON string; want a whole number"},
		"text":         {first + `{"path":1}`, "f:2: path is a JSON number; want text"},
		"array":        {first + `[]`, "f:2: this is a JSON array; want an exchange, {…}"},
		"cut":          {first + good + `{"at_ms":1,"to`, "f:3: the line ends too early"},
		"not JSON":     {first + `at`, "f:2: this is not one JSON document"},
		"two":          {first + `{} {}`, "f:2: this is not one JSON document: there is more than one"},
		"method":       {first + `{"method":"post"}`, `f:2: method is "post"; want one such as POST`},
		"path":         {first + `{"method":"POST","path":"a"}`, `f:2: path is "a"; want one that begins with /`},
		"status":       {first + `{"method":"POST","path":"/a","status":0}`, "f:2: status is 0; want one of HTTP"},
		"time":         {first + strings.Replace(good, `0,`, `-1,`, 1), "f:2: at_ms and took_ms are milliseconds"},
		"credentials":  {first + strings.Replace(good, `{`, `{"credentials":"cookie",`, 1), `f:2: credentials is "cookie"`},
	} {
		_, err := Parse("f", []byte(test.text))
		simtest.Check(t, err != nil && strings.HasPrefix(err.Error(), test.want), "%s: %v, want %s", name, err, test.want)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ tape, sim, want string }{
		"alike":         {`{"code":0,"data":{"pid":1,"t":"x"}}`, `{"code":0,"data":{"pid":2,"t":"y"}}`, ""},
		"code":          {`{"code":1,"data":null}`, `{"code":0,"data":{}}`, "code: 1, 0"},
		"code as text":  {`{"code":"00"}`, `{"code":0}`, "code: a text, a number"},
		"other text":    {`{"code":"00"}`, `{"code":"0"}`, "code: 00, 0"},
		"per host":      {`{"data":{"a:b":{"error_code":850,"content":"x"}}}`, `{"data":{"a:b":{"error_code":0}}}`, "data.*.error_code: 850, 0"},
		"form of keys":  {`{"data":{"0:0:1.2.3.4:n":{"x":1}}}`, `{"data":{"0:1.2.3.4:n":{"x":""}}}`, "data (keys): cloud:supplier:host:…, cloud:host:…; data.*.x: a number, a text"},
		"under way":     {`{"data":{"a:b":{"error_code":115}}}`, `{"data":{"a:b":{"error_code":0,"x":1}}}`, ""},
		"queued":        {`{"code":1000115,"data":null}`, `{"code":0,"data":{}}`, ""},
		"absent":        {`{"a":1}`, `{"b":null}`, "a: a number, absent; b: absent, null"},
		"type":          {`{"a":null}`, `{"a":[]}`, "a: null, an array"},
		"inner":         {`{"content":"{\"a\":1}"}`, `{"content":"{\"a\":\"1\"}"}`, "content (JSON in it).a: a number, a text"},
		"inner, none":   {`{"content":""}`, `{"content":"{}"}`, "content: an empty text, a text that holds JSON"},
		"rows":          {`{"r":[{"ip":"1","status":1},{"ip":"2","status":2}]}`, `{"r":[{"ip":"2","status":2},{"ip":"1","status":2}]}`, "r[].status: 1, 2"},
		"row too many":  {`{"r":[]}`, `{"r":[{"ip":"1"}]}`, "r[]: absent, an object"},
		"row too few":   {`{"r":[{"ip":"1"}]}`, `{"r":[]}`, "r[]: an object, absent"},
		"nameless rows": {`{"r":[{"bk_agent_id":"a","host":{}}]}`, `{"r":[{"bk_agent_id":"a"}]}`, "r[].host: an object, absent"},
		"boolean":       {`{"result":true}`, `{"result":false}`, "result: true, false"},
	} {
		var c comparison
		tape, _ := decode(test.tape)
		sim, _ := decode(test.sim)
		c.compare("", "", tape, sim)
		var got []string
		for _, d := range c.found {
			got = append(got, d.Where+": "+d.Platform+", "+d.Simulator)
		}
		simtest.Want(t, name, strings.Join(got, "; "), test.want)
	}
}

// An exchange that cannot be played is counted separately, and a tape is played with its own times.
func TestPlay(t *testing.T) {
	t.Parallel()
	tape := `{"tape":1}
{"at_ms":0,"took_ms":1,"credentials":"header","method":"POST","path":"/api/bk-gse/prod/api/v2/proc/operate_proc_v2","request":{"meta":{"namespace":"n","name":"p"},"op_type":3,"agent_id_list":["00000000000000000001"],"spec":{"identity":{"proc_name":"p","setup_path":"/p","pid_path":"/p","user":"root"},"control":{"start_cmd":"a","stop_cmd":"b"},"alive_monitor_policy":{"auto_type":1}}},"status":200,"response":{"code":0,"message":"","data":{"task_id":7}}}
{"at_ms":5,"took_ms":1,"credentials":"header","method":"POST","path":"/api/bk-gse/prod/api/v2/proc/get_proc_operate_result_v2","request":{"task_id":7},"status":200,"response":{"code":0,"message":"","data":{"00000000000000000001:n:p":{"error_code":850,"error_msg":"","content":""}}}}
{"at_ms":6,"took_ms":1,"credentials":"header","method":"POST","path":"/api/bk-gse/prod/api/v2/proc/get_proc_operate_result_v2","request":{"task_id":8},"status":200,"response":{"code":0}}
{"at_ms":7,"took_ms":1,"credentials":"header","method":"POST","path":"/api/bk-gse/prod/api/v2/proc/get_proc_status_v2","request":{},"status":502,"response":"Bad Gateway"}
{"at_ms":8,"took_ms":1,"credentials":"header","method":"POST","path":"/api/bk-cmdb/prod/api/v3/hosts/app/1/list_hosts","request":{},"status":200,"response":{"code":0}}
{"at_ms":9,"took_ms":1,"method":"POST","path":"/api/bk-gse/prod/api/v2/proc/sync_proc_status","request":{},"status":403,"response":{"code":1}}
`
	exchanges, err := Parse("tape", []byte(tape))
	simtest.Must(t, err)
	sim := &simulator.Server{}
	report := Report{Rows: Play(exchanges, sim)}
	text := report.String()
	simtest.WantIn(t, "report", text,
		"✗ gateway get_proc_operate_result_v2: 1 exchanges, 1 differ\n    data.*.error_code: 850 on the platform, 0 in the simulator (1 times, first in line 3)",
		"? gateway get_proc_operate_result_v2: 1 exchanges not played: "+leftTask,
		"? gateway get_proc_status_v2: 1 exchanges not played: "+leftGateway,
		"? gateway list_hosts: 1 exchanges not played: "+leftCMDB,
		"✗ gateway sync_proc_status: 1 exchanges, 1 differ\n    HTTP status: 403 on the platform, 401 App authentication failed",
		"✗ gateway operate_proc_v2 op_type 3: 1 exchanges, 1 differ\n    data.task_id: a number on the platform, a text in the simulator", "3 exchanges played, 3 differ",
	)
	calls := sim.Calls()
	simtest.Check(t, len(calls) == 3 && calls[1].End.Sub(calls[0].Start).Milliseconds() == 5, "the simulator was called %d times: %+v", len(calls), calls)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
