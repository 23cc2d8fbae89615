package gse

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

func TestProcess_Hosting(t *testing.T) {
	t.Parallel()
	kept := func(change func(*hostedspec.Entry)) hostedspec.Entry {
		s := sampleSpec()
		e := hostedspec.Entry{
			Namespace: "gse", Name: "proc-test", ProcName: s.Identity.ProcName, SetupPath: s.Identity.SetupPath, PIDPath: s.Identity.PIDPath, User: "root",
			StartCmd: "./start.sh", StopCmd: "./stop.sh", RestartCmd: "./restart.sh", ReloadCmd: "./reload.sh", KillCmd: "./kill.sh", VersionCmd: "./version.sh", HealthCmd: "./health.sh",
			AutoType: 1, HasAutoType: true, CPU: 10, Mem: 10, StartCheckSecs: 5, OpTimeout: 30,
		}
		change(&e)
		return e
	}
	as := func(*hostedspec.Entry) {}
	other := func(e *hostedspec.Entry) { e.Namespace = "old" }
	bare := minimalSpec()
	bare.Resource, bare.Control.StopCmd = nil, new(" ")
	standard, fractions := sampleSpec(), sampleSpec()
	fractions.Resource = &Resource{CPU: 10.1, Mem: 10}
	standard.MonitorPolicy.StartCheckSecs, standard.OpTimeout = new(int64), new(int64)
	for name, c := range map[string]struct {
		spec    *Spec
		esb     bool
		entries []hostedspec.Entry
		want    fleet.Hosting
	}{
		"as declared":        {entries: []hostedspec.Entry{kept(as)}, want: fleet.Hosting{Hosted: true}},
		"not hosted":         {want: fleet.Hosting{}},
		"another's":          {entries: []hostedspec.Entry{kept(func(e *hostedspec.Entry) { e.Name, e.PIDPath = "x", "/run/x.pid" })}, want: fleet.Hosting{}},
		"beside":             {entries: []hostedspec.Entry{kept(other), kept(as), kept(other)}, want: fleet.Hosting{Hosted: true, Beside: []string{"old:proc-test"}}},
		"beside it alone":    {entries: []hostedspec.Entry{kept(other)}, want: fleet.Hosting{Beside: []string{"old:proc-test"}}},
		"credential in it":   {entries: []hostedspec.Entry{kept(func(e *hostedspec.Entry) { e.User = "s3cret" })}, want: fleet.Hosting{Hosted: true, Differs: []fleet.Difference{{Field: "identity.user", Declared: "root", Hosted: "***"}}}},
		"timeout of the ESB": {esb: true, entries: []hostedspec.Entry{kept(func(e *hostedspec.Entry) { e.OpTimeout = 60 })}, want: fleet.Hosting{Hosted: true}},
		"blanks around":      {entries: []hostedspec.Entry{kept(func(e *hostedspec.Entry) { e.StartCmd, e.User = " ./start.sh\n", "root " })}, want: fleet.Hosting{Hosted: true}},
		"floats of 32 bits":  {spec: fractions, entries: []hostedspec.Entry{kept(func(e *hostedspec.Entry) { e.CPU = 10.100000381469727 })}, want: fleet.Hosting{Hosted: true}},
		"numbers not kept":   {entries: []hostedspec.Entry{kept(func(e *hostedspec.Entry) { e.HasAutoType, e.AutoType, e.StartCheckSecs, e.OpTimeout = false, 0, 0, 0 })}, want: fleet.Hosting{Hosted: true}},
		"type 0":             {entries: []hostedspec.Entry{kept(func(e *hostedspec.Entry) { e.AutoType = 0 })}, want: fleet.Hosting{Hosted: true, Differs: []fleet.Difference{{Field: "monitor_policy.auto_type", Declared: "1", Hosted: "0"}}}},
		"seconds declared 0": {spec: standard, entries: []hostedspec.Entry{kept(as)}, want: fleet.Hosting{Hosted: true}},
		"not understood":     {entries: []hostedspec.Entry{kept(as), {Namespace: "gse", Name: "proc-test", Why: "odd"}}, want: fleet.Hosting{Why: "odd"}},
		"another's is odd":   {entries: []hostedspec.Entry{kept(as), {Namespace: "gse", Name: "x", Why: "odd"}}, want: fleet.Hosting{Hosted: true}},
		"once more":          {entries: []hostedspec.Entry{kept(as), kept(as)}, want: fleet.Hosting{Hosted: true, Beside: []string{"gse:proc-test once more"}}},
		"one of two differs": {
			entries: []hostedspec.Entry{kept(as), kept(func(e *hostedspec.Entry) { e.StopCmd, e.Mem = "./stop.sh -9", 50.5 }), kept(func(e *hostedspec.Entry) { e.User = "x" })},
			want: fleet.Hosting{Hosted: true, Beside: []string{"gse:proc-test once more"}, Differs: []fleet.Difference{
				{Field: "control.stop_cmd", Declared: "./stop.sh", Hosted: "./stop.sh -9"}, {Field: "resource.mem", Declared: "10", Hosted: "50.5"},
			}},
		},
		"nothing declared": {
			spec: bare,
			entries: []hostedspec.Entry{{
				Namespace: "gse", Name: "proc-test", ProcName: "nginx", SetupPath: "/usr/sbin", PIDPath: "/run/nginx.pid", User: "root", StartCheckSecs: 9, OpTimeout: 60,
			}},
			want: fleet.Hosting{Hosted: true},
		},
		"all differs": {
			entries: []hostedspec.Entry{{Namespace: "gse", Name: "proc-test", AutoType: 2, HasAutoType: true, StartCheckSecs: 6, OpTimeout: 31}},
			want: fleet.Hosting{Hosted: true, Differs: []fleet.Difference{
				{Field: "identity.proc_name", Declared: "proc-test"}, {Field: "identity.setup_path", Declared: "/data/gsetest/"},
				{Field: "identity.pid_path", Declared: "/data/gsetest/proc-test.pid"}, {Field: "identity.user", Declared: "root"},
				{Field: "control.start_cmd", Declared: "./start.sh"}, {Field: "control.stop_cmd", Declared: "./stop.sh"},
				{Field: "control.restart_cmd", Declared: "./restart.sh"}, {Field: "control.reload_cmd", Declared: "./reload.sh"},
				{Field: "control.kill_cmd", Declared: "./kill.sh"}, {Field: "control.version_cmd", Declared: "./version.sh"},
				{Field: "control.health_cmd", Declared: "./health.sh"}, {Field: "resource.cpu", Declared: "10", Hosted: "0"},
				{Field: "resource.mem", Declared: "10", Hosted: "0"}, {Field: "monitor_policy.auto_type", Declared: "1", Hosted: "2"},
				{Field: "monitor_policy.start_check_secs", Declared: "5", Hosted: "6"}, {Field: "monitor_policy.op_timeout", Declared: "30", Hosted: "31"},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newTestClient(t, "http://127.0.0.1:1", func(cfg *bkapi.Config, _ *procapi.Options) {
				if !c.esb {
					cfg.Gateway = bkapi.APIGW
				}
			})
			asked := &readerOf{reading: hostedspec.Reading{Entries: c.entries}}
			client.Hosted = asked
			if c.spec == nil {
				c.spec = sampleSpec()
			}
			got := client.Process(sampleMeta, c.spec).Hosting(t.Context(), hosts(1))[host(1)]
			diff := cmp.Diff(c.want, got, cmp.Transformer("blank", func(d []fleet.Difference) string { return fmt.Sprint(d) }))
			procapitest.Check(t, diff == "" && !asked.windows, "windows: %t (-want +got):\n%s", asked.windows, diff)
		})
	}
}

// readerOf returns the same reading for each host.
type readerOf struct {
	reading hostedspec.Reading
	windows bool
}

func (r *readerOf) ReadHosted(_ context.Context, hosts []fleet.Host, windows bool) map[fleet.Host]hostedspec.Reading {
	r.windows = windows
	readings := make(map[fleet.Host]hostedspec.Reading)
	for _, h := range hosts {
		readings[h] = hostedspec.Reading{Entries: slices.Clone(r.reading.Entries), Why: r.reading.Why}
	}
	return readings
}

func TestProcess_Hosting_unread(t *testing.T) {
	t.Parallel()
	client := newTestClient(t, "http://127.0.0.1:1", func(cfg *bkapi.Config, _ *procapi.Options) { cfg.Gateway = bkapi.APIGW })
	if got := client.Process(sampleMeta, sampleSpec()).Hosting(t.Context(), hosts(2)); len(got) != 2 || got[host(2)].Why != "reading what agents host is not configured" {
		t.Errorf("without a reader: %+v", got)
	}
	asked := &readerOf{reading: hostedspec.Reading{Why: "away"}}
	client.Hosted = asked
	if got := client.Process(sampleMeta, nil).Hosting(t.Context(), hosts(1)); got[host(1)].Why != fleet.ErrNoSpec.Error() {
		t.Errorf("without a spec: %+v", got)
	}
	spec := sampleSpec()
	spec.Identity.SetupPath = "d:/app"
	if got := client.Process(sampleMeta, spec).Hosting(t.Context(), hosts(1)); got[host(1)].Why != "away" || got[host(1)].Hosted || !asked.windows {
		t.Errorf("of Windows: %+v", got)
	}
}
