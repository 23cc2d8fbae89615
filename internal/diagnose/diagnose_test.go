package diagnose

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

func TestHostRows(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 25)
	lost := &bkapi.Error{API: "operate_proc_v2", URL: "https://paas/x", Kind: bkapi.KindLost, Sent: true, RequestID: "r9", Attempts: 1, Err: errors.New("EOF")}
	badGateway := &bkapi.Error{
		API: "get_proc_operate_result_v2", URL: "https://paas/x", Kind: bkapi.KindStatus, Status: 502, Sent: true, RequestID: "r7",
		Attempts: 3, Elapsed: time.Second, Repeatable: true,
	}
	queued := &bkapi.Error{API: "get_proc_operate_result_v2", URL: "https://paas/x", Kind: bkapi.KindRefused, Code: 1000115, Sent: true, Attempts: 1}
	away := func(message string) fleet.Outcome {
		return fleet.Outcome{Verdict: fleet.Failed, Code: 117, Meaning: "the agent is abnormal or not found", Message: message}
	}
	many := make(fleet.Results)
	for _, h := range hosts {
		many[h] = away("")
	}
	for name, c := range map[string]struct {
		failures fleet.Results
		want     string
	}{
		"the-last-lines-of-an-output": {
			fleet.Results{
				hosts[2]: away("agent is away"),
				hosts[0]: {Verdict: fleet.Failed, Code: 65535, Meaning: "the command failed", Message: "line one\nline two\n\nline three\nline\tfour\nline five\nline six\n", TaskID: "GSETASK:1", RequestID: "r1"},
				hosts[1]: {Verdict: fleet.Failed, Code: 117, TaskID: "GSETASK:2", RequestID: "r2"},
			},
			`  h01 (0:10.0.0.1): 65535, the command failed
      …
      line two
      line three
      line four
      line five
      line six
  h02 (0:10.0.0.2): 117
  h03 (0:10.0.0.3): 117, the agent is abnormal or not found
      agent is away

Task: GSETASK:1, GSETASK:2
Request: r1, r2
`,
		},
		"what-the-code-means-is-said-once": {
			fleet.Results{hosts[0]: away("[10.0.0.1] agent abnormal or not found"), hosts[1]: away(""), hosts[2]: away("agent not found")},
			"  h01, h02 (2 hosts): 117, the agent is abnormal or not found\n  h03 (0:10.0.0.3): 117, the agent is abnormal or not found\n      agent not found\n",
		},
		"what-differs-in-numbers-is-said-once": {
			fleet.Results{
				hosts[0]: away("no agent at 10.0.0.1"), hosts[1]: away("no agent at 10.0.0.2"),
				hosts[2]: {Verdict: fleet.Failed, Code: 126, Meaning: "the agent is abnormal or not found", Message: "no agent at 10.0.0.3"},
				hosts[3]: {Verdict: fleet.Failed, Meaning: "not stable: pids seen: 7"},
				hosts[4]: {Verdict: fleet.Failed, Meaning: "not stable: pids seen: 31"},
				hosts[5]: {Verdict: fleet.Failed, Code: 65535, Ran: true, Meaning: "the command failed", Message: "exit status 1"},
				hosts[6]: {Verdict: fleet.Failed, Code: 65535, Ran: true, Meaning: "the command failed", Message: "exit status 2"},
			},
			`  h01, h02 (2 hosts): 117, the agent is abnormal or not found
      no agent at 10.0.0.1
      (on h01; the others differ in numbers)
  h04, h05 (2 hosts): not stable: pids seen: 7
      (on h04; the others differ in numbers)
  h03 (0:10.0.0.3): 126, the agent is abnormal or not found
      no agent at 10.0.0.3
  h06 (0:10.0.0.6): 65535, the command failed
      exit status 1
  h07 (0:10.0.0.7): 65535, the command failed
      exit status 2
`,
		},
		"every-kind-of-verdict": {
			fleet.Results{
				hosts[0]: {Verdict: fleet.Pending, Code: 115, Meaning: "still in progress", Err: context.DeadlineExceeded},
				hosts[1]: {Verdict: fleet.Pending, Meaning: "the platform's result did not mention the host", Err: context.Canceled},
				hosts[2]: {Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures},
				hosts[3]: {Verdict: fleet.Failed, Code: 4711},
			},
			`  h04 (0:10.0.0.4): 4711
  h01 (0:10.0.0.1): no verdict when the time was up (115, still in progress)
  h02 (0:10.0.0.2): interrupted (the platform's result did not mention the host)
  h03 (0:10.0.0.3): not tried: too many hosts had failed before its wave

Time ran out. What was already sent may still take effect. If the platform is just slow, raise the timeouts of this object, or rollout.wave_timeout.
`,
		},
		"a-failed-call-is-reported-once": {
			fleet.Results{hosts[0]: {Verdict: fleet.Lost, Err: lost}, hosts[1]: {Verdict: fleet.Lost, Err: lost}},
			`  h01, h02 (2 hosts): outcome unknown (the operation was sent and its answer got lost)

operate_proc_v2: no usable answer from https://paas/x after the request was sent: EOF (request id r9).

The platform, or something on the way to it, is failing. Apply again once it has recovered.
`,
		},
		"a-wait-that-was-going-badly": {
			fleet.Results{
				hosts[0]: {Verdict: fleet.Pending, Meaning: "the platform's result could not be read", TaskID: "GSETASK:1", Err: fmt.Errorf(
					"asking for the result of task GSETASK:1: %w; the answer before: %w", context.DeadlineExceeded, badGateway)},
				hosts[1]: {Verdict: fleet.Pending, Meaning: "the task was still queued", TaskID: "GSETASK:2", Err: fmt.Errorf(
					"asking for the result of task GSETASK:2: %w; the answer before: %w", context.DeadlineExceeded, queued)},
			},
			`  h01 (0:10.0.0.1): no verdict when the time was up (the platform's result could not be read)
  h02 (0:10.0.0.2): no verdict when the time was up (the task was still queued)

Task: GSETASK:1, GSETASK:2

asking for the result of task GSETASK:1: context deadline exceeded; the answer before: get_proc_operate_result_v2: HTTP 502 Bad Gateway from https://paas/x (3 tries in 1s, request id r7).

The platform, or something on the way to it, is failing. Apply again once it has recovered.

Time ran out. What was already sent may still take effect. If the platform is just slow, raise the timeouts of this object, or rollout.wave_timeout.
`,
		},
		"result-not-known": {
			fleet.Results{hosts[0]: {Verdict: fleet.Pending, Meaning: "the platform's result could not be read", TaskID: "GSETASK:1", Err: badGateway}},
			`  h01 (0:10.0.0.1): outcome unknown (the platform's result could not be read)

Task: GSETASK:1

get_proc_operate_result_v2: HTTP 502 Bad Gateway from https://paas/x (3 tries in 1s, request id r7).

The platform, or something on the way to it, is failing. Apply again once it has recovered.
`,
		},
		"hosts-alike-are-one-row": {many, "  h01…h25 (25 hosts): 117, the agent is abnormal or not found\n"},
		"two-calls-that-failed-alike": {
			fleet.Results{
				hosts[0]: {Verdict: fleet.Failed, Err: refusal("r1", 403)}, hosts[1]: {Verdict: fleet.Failed, Err: refusal("r2", 403)}, hosts[2]: {Verdict: fleet.Failed, Err: refusal("r3", 413)},
			},
			`  h01, h02 (2 hosts): the call failed: HTTP 403
  h03 (0:10.0.0.3): the call failed: HTTP 413

operate_proc_v2: HTTP 403 Forbidden from https://paas/x (request id r1).

The platform knows the application but does not let it call operate_proc_v2. Each API is granted separately: check that the application may call this one, or ask the platform's administrators to grant it.

2 calls failed like this one.

operate_proc_v2: HTTP 413 Request Entity Too Large from https://paas/x (request id r3).

Lower max_hosts_per_request.
`,
		},
	} {
		procapitest.WantEqual(t, name, c.want, Rows(inventory, c.failures))
	}
}

func refusal(requestID string, status int) error {
	return &bkapi.Error{API: "operate_proc_v2", URL: "https://paas/x", Kind: bkapi.KindStatus, Status: status, Sent: true, RequestID: requestID, Attempts: 1}
}

// However many hosts share a reason, every other reason is shown, and the hosts that are left out are counted.
func TestRows_everyReason(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 200)
	slices.SortFunc(hosts, func(a, b fleet.Host) int { return fleet.CompareKeys(inventory.Key(a), inventory.Key(b)) })
	broken := func(output func(n int) string) fleet.Results {
		failures := make(fleet.Results)
		for n, h := range hosts {
			failures[h] = fleet.Outcome{Verdict: fleet.Failed, Code: 65535, Meaning: "the command failed", Message: output(n)}
		}
		return failures
	}
	for name, c := range map[string]struct {
		failures fleet.Results
		want     []string
		rows     int
	}{
		"an-output-with-numbers-of-its-own": {
			broken(func(n int) string {
				if n == 76 {
					return "12:01:07 h77[4077]: permission denied"
				}
				return fmt.Sprintf("12:01:%02d h%d[%d]: disk full", n%60, n+1, 4000+n)
			}),
			[]string{
				"  h01…h76, h78…h200 (199 hosts): 65535, the command failed\n      12:01:00 h1[4000]: disk full\n      (on h01; the others differ in numbers)\n",
				"  h77 (0:10.0.0.77): 65535, the command failed\n      12:01:07 h77[4077]: permission denied\n",
			}, 2,
		},
		"no-two-outputs-alike": {
			func() fleet.Results {
				failures := broken(func(n int) string { return string([]rune{rune('a' + n/26), rune('a' + n%26)}) })
				failures[hosts[199]] = fleet.Outcome{Verdict: fleet.Failed, Code: 836, Meaning: "the process was not running when the start was checked"}
				failures[hosts[198]] = fleet.Outcome{Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}
				return failures
			}(),
			[]string{
				"  h200 (0:10.0.0.200): 836, the process was not running when the start was checked\n",
				"  h199 (0:10.0.0.199): not tried: too many hosts had failed before its wave\n",
				"  and 180 more hosts with other outputs\n",
			}, 20,
		},
		"scattered": {
			func() fleet.Results {
				failures := make(fleet.Results)
				for n := 0; n < len(hosts); n += 2 {
					failures[hosts[n]] = fleet.Outcome{Verdict: fleet.Failed, Code: 117}
				}
				return failures
			}(),
			[]string{"  h01, h03, h05, h07, h09, h11, h13, h15, … (100 hosts): 117\n"}, 1,
		},
	} {
		got := Rows(inventory, c.failures)
		for _, want := range c.want {
			procapitest.Check(t, strings.Contains(got, want), "%s: there is no\n%s in\n%s", name, want, got)
		}
		procapitest.WantEqual(t, name+", rows", c.rows, strings.Count(got, "): "))
		procapitest.WantEqual(t, name+", the second time", got, Rows(inventory, c.failures))
	}
}

// Hosts that leave state are all named with their addresses: hosts does not contain them any more.
//
// Promised in changing-hosts.md: go from state with a warning that names each of them and its address.
func TestRowsInFull(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 120)
	gone := make(fleet.Results)
	for n := 0; n < len(hosts); n += 2 {
		gone[hosts[n]] = fleet.Outcome{Verdict: fleet.Failed, Code: 117, Message: strings.Repeat("x", n%60)}
	}
	said := RowsInFull(inventory, gone)
	for host := range gone {
		place := inventory.Key(host) + " (" + host.Address() + ")"
		procapitest.Check(t, strings.Contains(said, place), "%s is not named in\n%s", place, said)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	_, hosts := fleettest.Inventory(t, 4)
	failed := fleet.Outcome{Verdict: fleet.Failed, Code: 117}
	lost, stuck := fleet.Outcome{Verdict: fleet.Lost}, fleet.Outcome{Verdict: fleet.Pending, Err: context.DeadlineExceeded}
	never := fleet.Outcome{Verdict: fleet.NotTried}
	for name, c := range map[string]struct {
		failures       fleet.Results
		count, outcome string
	}{
		"failed":   {fleet.Results{hosts[0]: failed, hosts[1]: failed}, "2 of 4 hosts", "4 hosts: 2 done, 2 failed"},
		"apart":    {fleet.Results{hosts[0]: failed, hosts[1]: lost, hosts[2]: stuck, hosts[3]: never}, "4 of 4 hosts (1 failed, 2 outcome unknown, 1 not tried)", "4 hosts: 0 done, 1 failed, 2 outcome unknown, 1 not tried"},
		"unknown":  {fleet.Results{hosts[0]: stuck}, "1 of 4 hosts (1 outcome unknown)", "4 hosts: 3 done, 1 outcome unknown"},
		"all-well": {nil, "0 of 4 hosts", "4 hosts: 4 done"},
	} {
		procapitest.WantEqual(t, name, []string{c.count, c.outcome}, []string{CountFailures(c.failures, 4), CountOutcomes(c.failures, 4)})
	}
	one := fleet.Results{hosts[0]: failed}
	procapitest.WantEqual(t, "of one host", "1 of 1 host; 1 host: 0 done, 1 failed", CountFailures(one, 1)+"; "+CountOutcomes(one, 1))
}

func TestSettingsNotKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		got           diag.Diagnostic
		severity      diag.Severity
		summary, want string
	}{
		"not-ready": {
			NotReady([]string{"app_secret", "endpoint"}), diag.SeverityError, "Provider Not Configured Yet",
			"The platform has to be called now, but these settings of the provider block are not known until apply: app_secret, endpoint.\n\n" +
				"Make this object depend on the resources that they come from (depends_on), apply those first (with -target), or set known values.",
		},
		"not-refreshed": {
			NotRefreshed([]string{"endpoint"}), diag.SeverityWarning, "Not Refreshed",
			"The platform was not asked, because these settings of the provider block are not known until apply: endpoint. " +
				"The plan is based on what is in state.",
		},
	} {
		procapitest.WantEqual(t, name, []any{c.severity, c.summary, c.want}, []any{c.got.Severity(), c.got.Summary(), c.got.Detail()})
	}
}

// Every kind of failed call says what happened, where, and what to do. What happened is the text of the error.
func TestExplain(t *testing.T) {
	t.Parallel()
	const (
		stranger = "Check the provider's endpoint and gateway, which is esb now. The endpoint of the ESB is its base URL, such as " +
			"https://paas.example.com; that of the API gateway is the URL of a stage, such as https://bkapi.example.com/api/bk-gse/prod. "
		noAnswer = "Check that the provider's endpoint is correct and can be reached from this machine, and that HTTPS_PROXY is set if a proxy is needed."
	)
	for name, c := range map[string]struct {
		err  bkapi.Error
		want string // what to do
	}{
		"connect": {bkapi.Error{Kind: bkapi.KindConnect, Err: errors.New("connection refused")}, noAnswer},
		"forbidden": {bkapi.Error{Kind: bkapi.KindStatus, Status: 403}, "The platform knows the application but does not let it call operate_proc_v2. Each API is granted separately: " +
			"check that the application may call this one, or ask the platform's administrators to grant it."},
		"too-large":    {bkapi.Error{Kind: bkapi.KindStatus, Status: 413}, "Lower max_hosts_per_request."},
		"wrong-secret": {bkapi.Error{Kind: bkapi.KindStatus, Status: 401, Code: 1640101}, "The gateway does not accept the application. Check app_code and app_secret."},
		"wrong-user": {bkapi.Error{Kind: bkapi.KindStatus, Status: 401, Code: 1640102}, "The gateway accepts the application but not the user. " +
			"Check username, token or access_token, whichever is set; a token may have expired."},
		"unauthorized": {bkapi.Error{Kind: bkapi.KindStatus, Status: 401}, "The platform does not accept the credentials. Check app_code and app_secret, and then the user."},
		"page":         {bkapi.Error{Kind: bkapi.KindFormat, Gateway: bkapi.ESB, Status: 200, Stranger: true}, stranger + "If both are right, a login page or a proxy is in between."},
		"redirect": {bkapi.Error{Kind: bkapi.KindRedirect, Gateway: bkapi.APIGW, Status: 302, Stranger: true}, strings.Replace(stranger, "is esb", "is apigw", 1) +
			"If the redirect leads to the platform, set endpoint to that address: redirects are not followed, so that credentials go nowhere else."},
		"page-of-cmdb": {bkapi.Error{Setting: "cmdb_endpoint", Kind: bkapi.KindFormat, Gateway: bkapi.ESB, Status: 200, Stranger: true},
			strings.NewReplacer("provider's endpoint", "provider's cmdb_endpoint", "bk-gse", "bk-cmdb").Replace(stranger) + "If both are right, a login page or a proxy is in between."},
		"task-not-found": {bkapi.Error{Kind: bkapi.KindStatus, Status: 404, Code: 1000404}, "The platform answers at this address, and does not have what was asked for. " +
			"A task counts as forgotten after thirty such answers in a row: apply again, and raise the timeouts of this object if they ended the wait before that."},
		"no-such-api": {bkapi.Error{API: "a", Gateway: bkapi.APIGW, Kind: bkapi.KindStatus, Status: 404, Code: 1640401}, "The API a was not found at this address of the API gateway. " +
			"Check the provider's endpoint, and whether gateway should be esb or apigw; it is apigw now."},
		"job-removed": {bkapi.Error{API: "operate_process", Kind: bkapi.KindStatus, Status: 404}, "JOB has no process APIs as of release 3.7. If this one is older, check job_endpoint and job_api; " +
			"otherwise use the objects that call GSE directly: bk_hosted_process, bk_process_operation and bk_process_status. `terraform state rm` removes from state what can no longer be read."},
		// The clock may be wrong only if a certificate has expired, and not if it is for another purpose.
		"expired": {bkapi.Error{Kind: bkapi.KindTLS, Err: x509.CertificateInvalidError{Reason: x509.Expired}}, "The platform's certificate has expired or is not valid yet. Check this machine's clock, or have the certificate renewed."},
		"purpose": {bkapi.Error{Kind: bkapi.KindTLS, Err: x509.CertificateInvalidError{Reason: x509.IncompatibleUsage}}, "The platform's certificate is not valid for this purpose. Ask its administrators for another one."},
	} {
		c.err.API, c.err.URL, c.err.Sent, c.err.Attempts, c.err.RequestID = cmp.Or(c.err.API, "operate_proc_v2"), "https://paas/x", true, 1, "r1"
		c.err.Setting = cmp.Or(c.err.Setting, "endpoint")
		procapitest.WantEqual(t, name, c.err.Error()+".\n\n"+c.want, explain(fmt.Errorf("%w", &c.err)))
	}
	refused := &bkapi.Error{API: "operate_proc_v2", URL: "https://paas/x", Kind: bkapi.KindRefused, Status: 200, Code: 7, Sent: true, Attempts: 1, RequestID: "r1", Message: "bad luck"}
	want := "operate_proc_v2: refused by the platform: bad luck (code 7, request id r1).\nURL: https://paas/x\n\n" +
		"The message is the platform's own. If it is about the application, check app_code and app_secret, and that the application may call operate_proc_v2; " +
		"otherwise ask the platform's administrators and quote the request id."
	procapitest.WantEqual(t, "refused", want, explain(refused))
	// An earlier failure says more than that time ran out.
	late := fmt.Errorf("%w; the answer before: %w", &bkapi.Error{URL: "https://paas/x", Kind: bkapi.KindCanceled, Attempts: 1}, refused)
	procapitest.WantEqual(t, "in time", true, strings.HasSuffix(explain(late), want[strings.LastIndex(want, "\n\n"):]))
	ctx, interrupt := context.WithCancel(t.Context())
	procapitest.WantEqual(t, "all is well", nil, UnlessInterrupted(ctx, nil))
	interrupt()
	procapitest.WantEqual(t, "interrupted", "interrupted before every host had answered", UnlessInterrupted(ctx, nil).Error())
}

func TestHostsArgument(t *testing.T) {
	t.Parallel()
	many := make(map[string]string)
	for n := range 100 {
		many[fmt.Sprintf("web-%d", n)] = fmt.Sprintf("0:10.0.0.%d", n)
	}
	for name, c := range map[string]struct {
		addresses map[string]string
		want      string
	}{
		"in-natural-order": {
			map[string]string{"web-10": "0:10.0.0.10", "web-9": "0:10.0.0.9"},
			"  hosts={\n    \"web-9\" = \"0:10.0.0.9\", \"web-10\" = \"0:10.0.0.10\"\n  }",
		},
		"keys-are-escaped": {map[string]string{`a"b\c${d}%{e}<f>`: "0:10.0.0.1"}, "  hosts={\n    \"a\\\"b\\\\c$${d}%%{e}<f>\" = \"0:10.0.0.1\"\n  }"},
		"a-host-with-a-long-key": {
			map[string]string{strings.Repeat("k", 200): "0:10.0.0.1", "l": "0:10.0.0.2"},
			"  hosts={\n    \"" + strings.Repeat("k", 200) + "\" = \"0:10.0.0.1\"\n    \"l\" = \"0:10.0.0.2\"\n  }",
		},
	} {
		procapitest.WantEqual(t, name, c.want, HostsArgument(c.addresses))
	}
	for spare, lines := range map[int]int{0: 2, 1: 1} { // a second host fits where a column is left
		key := strings.Repeat("k", argumentWidth-len(`    "" = "0:10.0.0.1"`)-len(`"z" = "0:10.0.0.2"`)-spare)
		procapitest.WantEqual(t, "lines of hosts", 1+lines, strings.Count(HostsArgument(map[string]string{key: "0:10.0.0.1", "z": "0:10.0.0.2"}), "\n"))
	}
	text := HostsArgument(many)
	procapitest.WantEqual(t, "hosts in the text", len(many), strings.Count(text, " = \"0:"))
	for line := range strings.Lines(text) {
		procapitest.Check(t, len(line) <= argumentWidth+4 && !strings.HasSuffix(line, ",\n"), "a line of %d: %q", len(line), line)
	}
}

func TestInWaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sizes []int
		want  string
	}{
		"none":       {nil, ""},
		"one":        {[]int{5}, ""},
		"equal":      {[]int{5, 5}, " in 2 waves of 5"},
		"the-rest":   {[]int{5, 5, 2}, " in 3 waves of 5"},
		"last-grows": {[]int{5, 6}, " in 2 waves of 5, 6"},
		"growing":    {[]int{1, 2, 4}, " in 3 waves of 1, 2, 4"},
		"all-listed": {append(slices.Repeat([]int{1}, 12), 2), " in 13 waves of 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2"},
		"too-many":   {append(slices.Repeat([]int{1}, 13), 2), " in 14 waves of 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, …, 2"},
	} {
		procapitest.WantEqual(t, name, c.want, InWaves(c.sizes))
	}
}

// A text of the platform or of a name may begin with any character.
func TestSentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "  no host\n": "No host.", "is it?": "Is it?", "主机不存在": "主机不存在.", "éléments": "Éléments.", "\xff is no text": "\ufffd is no text.",
	} {
		procapitest.WantEqual(t, text, want, Sentence(text))
	}
}

// A rollout_plan that equals the previous one says so, and how often.
func TestAgain(t *testing.T) {
	t.Parallel()
	hosts := strings.Repeat("web-1, ", 20)
	for text, want := range map[[2]string]string{
		{"a", ""}: "a", {"a", "b"}: "a", {"a", "a"}: "again: a", {"a", "again: a"}: "again (2): a", {"a", "again (2): a"}: "again (3): a", {"a\nin 2 waves", "a\nin 2 waves"}: "again: a\nin 2 waves",
		{"a: " + hosts, "b:\n" + hosts}: "a:\n" + hosts, {"a: " + hosts, "a:\n" + hosts}: "again: a:\n" + hosts, {"a: " + hosts, "again: a:\n" + hosts}: "again (2): a:\n" + hosts, {"a: " + hosts, "a:\nothers"}: "a:\n" + hosts,
	} {
		if got := Again(Lines([]string{text[0]}), text[1]); got != want || IsAgain(got) != strings.HasPrefix(want, "again") {
			t.Errorf("%q after %q: %q, want %q", text[0], text[1], got, want)
		}
	}
}

// One paragraph is about calls whose end was not seen: the cause, what it means, and what to do.
func TestRowsInDoubt(t *testing.T) {
	t.Parallel()
	const doubt, up, slower = "The operation may have run.", "Time ran out.", "If the platform is just slow, raise the timeouts of this object, or rollout.wave_timeout."
	inventory, hosts := fleettest.Inventory(t, 2)
	stuck := fleet.Outcome{Verdict: fleet.Pending, Code: 115, Err: context.DeadlineExceeded}
	for name, c := range map[string]struct {
		outcome fleet.Outcome
		want    string
	}{
		"no-verdict":  {stuck, up + " " + doubt + " " + slower + "\n"},
		"never-sent":  {fleet.Outcome{Verdict: fleet.NotTried, Err: context.DeadlineExceeded}, up + " " + slower + "\n"},
		"lost":        {fleet.Outcome{Verdict: fleet.Lost}, doubt + "\n"},
		"interrupted": {fleet.Outcome{Verdict: fleet.Pending, Err: context.Canceled}, doubt + "\n"},
		"failed":      {fleet.Outcome{Verdict: fleet.Failed, Code: 117}, ""},
	} {
		text := RowsInDoubt(inventory, fleet.Results{hosts[0]: c.outcome, hosts[1]: {Verdict: fleet.Failed, Code: 4711}}, doubt)
		_, got, _ := strings.Cut(text, "\n\n")
		procapitest.WantEqual(t, name+", after the rows", c.want, got)
	}
}

// A failure before time ran out is found however it is wrapped.
func TestTroubled(t *testing.T) {
	t.Parallel()
	canceled, refused := &bkapi.Error{Kind: bkapi.KindCanceled, Attempts: 1}, &bkapi.Error{Kind: bkapi.KindRefused, Attempts: 1}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"none":           {nil, false},
		"time-alone":     {canceled, false},
		"refused":        {refused, true},
		"wrapped":        {fmt.Errorf("on web-1: %w", refused), true},
		"joined":         {errors.Join(canceled, refused), true},
		"joined-wrapped": {fmt.Errorf("on web-1: %w", errors.Join(canceled, fmt.Errorf("before: %w", refused))), true},
		"time-joined":    {errors.Join(canceled, context.DeadlineExceeded), false},
		"tried-again":    {&bkapi.Error{Kind: bkapi.KindCanceled, Attempts: 2}, true},
	} {
		procapitest.WantEqual(t, name, c.want, troubled(c.err))
	}
}
