package gse

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// hostedByOne is process gse:proc-test, hosted by one agent of a simulator, with a client that reads the
// agent's file from source.
func hostedByOne(t *testing.T, sim *simulator.Server, source hostedspec.Source) (*Process, []fleet.Host) {
	t.Helper()
	p := gatewaySim(t, sim, 1000)
	p.client.Hosted = HostedFiles{Client: p.client, Source: source}
	hosts := procapitest.Parse(t, agentA)
	wantDone(t, p.Register(t.Context(), hosts))
	return p, hosts
}

// Whatever the agent's file contains, the client knows what the agent hosts, or says why not. No secret
// of the file leaves the host.
func TestHostedFlow_files(t *testing.T) {
	t.Parallel()
	const path, notUTF8, notJSON = "/usr/local/gse2_cloud/agent/etc/.proc", "its entry in the agent's file has text that is not UTF-8", "the agent's file is no JSON, or was being written"
	cases := map[string]struct {
		source hostedspec.Source
		file   simulator.ProcFile
		edit   map[string]any
		want   string // why, or what is hosted
	}{
		"as agents write it": {want: "hosted"},
		"changed by hand":    {edit: map[string]any{"stopCmd": "./stop.sh -9", "memlmt": 50}, want: "hosted control.stop_cmd resource.mem"},
		"another root":       {file: simulator.ProcFile{Path: path}, source: hostedspec.Source{Path: path}, want: "hosted"},
		"root not known":     {file: simulator.ProcFile{Path: path}, want: "the agent's directory is not there: hosted_specs has another path than this agent"},
		"missing":            {file: simulator.ProcFile{Odd: "missing"}, want: "nothing"},
		"no-entries":         {file: simulator.ProcFile{Odd: "no-entries"}, want: "nothing"},
		"null":               {file: simulator.ProcFile{Odd: "null"}, want: "nothing"},
		"missing-directory":  {file: simulator.ProcFile{Odd: "missing-directory"}, want: "the agent's directory is not there: hosted_specs has another path than this agent"},
		"unreadable":         {file: simulator.ProcFile{Odd: "unreadable"}, want: "the account that the script ran as cannot read the agent's file"},
		"empty":              {file: simulator.ProcFile{Odd: "empty"}, want: "the agent's file is empty"},
		"other-members":      {file: simulator.ProcFile{Odd: "other-members"}, want: "the agent's file has no list of processes"},
		"command-not-found":  {file: simulator.ProcFile{Odd: "command-not-found"}, want: notJSON},
		"not-json":           {file: simulator.ProcFile{Odd: "not-json"}, want: notJSON},
		"truncated":          {file: simulator.ProcFile{Odd: "truncated"}, want: notJSON},
		"around":             {file: simulator.ProcFile{Odd: "around"}, want: "hosted"},
		"banner":             {file: simulator.ProcFile{Odd: "banner"}, want: "hosted"},
		"twice":              {file: simulator.ProcFile{Odd: "twice"}, want: "hosted control.stop_cmd"},
		"others":             {file: simulator.ProcFile{Odd: "others"}, want: "hosted"},
		"many":               {file: simulator.ProcFile{Odd: "many"}, want: "hosted"},
		"unknown-keys":       {file: simulator.ProcFile{Odd: "unknown-keys"}, want: "hosted"},
		"gbk":                {file: simulator.ProcFile{Odd: "gbk"}, want: notUTF8},
		"styled":             {file: simulator.ProcFile{Odd: "styled"}, want: "hosted"},
		"texts":              {file: simulator.ProcFile{Odd: "texts"}, want: "hosted"},
	}
	for _, odd := range simulator.OddFiles() {
		if cases[odd].file.Odd != odd {
			t.Errorf("%s is not tried", odd)
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{ScreenPage: 512 << 10}
			p, hosts := hostedByOne(t, sim, c.source)
			if c.edit != nil {
				if err := sim.EditProc(agentA, "gse", "proc-test", c.edit); err != nil {
					t.Fatal(err)
				}
			}
			sim.SetProcFile(agentA, c.file)
			found := p.Hosting(t.Context(), hosts)[hosts[0]]
			got := cmp.Or(found.Why, map[bool]string{true: "hosted", false: "nothing"}[found.Hosted])
			for _, d := range found.Differs {
				got += " " + d.Field
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if said := fmt.Sprintf("%+v", found); strings.Contains(said, simulator.SecretPassword) || strings.Contains(said, simulator.SecretUserPwd) {
				t.Errorf("a secret: %s", said)
			}
		})
	}
}

// The client waits for what the platform says of a script on an agent, or reports it.
func TestHostedFlow_agents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault simulator.Fault
		want  string // in Why; "" if the file is read
	}{
		"slow":            {simulator.Fault{Pending: 3}, ""},
		"queued":          {simulator.Fault{Queued: 2}, ""},
		"left out":        {simulator.Fault{Missing: 2}, ""},
		"away":            {simulator.Fault{Unreachable: "117"}, "code 117"},
		"silent":          {simulator.Fault{Unreachable: "pending"}, "the agent had not answered"},
		"agent restarted": {simulator.Fault{Pending: 1, ScriptStatus: 6}, "the agent was restarted while the script ran"},
		"too long":        {simulator.Fault{ScriptStatus: 3}, "the script took longer than 60 seconds"},
		"task lost":       {simulator.Fault{Pending: 1, Code: new(-1), Message: "no such task"}, "no such task"},
		"not permitted":   {simulator.Fault{HTTPStatus: 403, Body: `{"code":1640301,"message":"App has no permission","result":false}`}, "no permission"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p, hosts := hostedByOne(t, sim, hostedspec.Source{})
			c.fault.API = runScript
			sim.Inject(c.fault)
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if name == "silent" {
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
			}
			defer cancel()
			if found := p.Hosting(ctx, hosts)[hosts[0]]; (c.want == "") != (found.Why == "") || !strings.Contains(found.Why, c.want) || found.Hosted != (c.want == "") {
				t.Errorf("got %+v, want %q", found, c.want)
			}
		})
	}
}
