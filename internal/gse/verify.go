package gse

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
)

// Differences returns the fields in which the agent hosts another spec, among those that the agent's file
// keeps. A number of seconds is not compared if it is undeclared, or 0 on either side. It is then a default of
// the server or of the agent. White space around a text is ignored.
func (s *Spec) Differences(e hostedspec.Entry, sendsTimeout bool) []fleet.Difference {
	var limits Resource
	if s.Resource != nil {
		limits = *s.Resource
	}
	fields := []fleet.Difference{
		{Field: "identity.proc_name", Declared: s.Identity.ProcName, Hosted: e.ProcName},
		{Field: "identity.setup_path", Declared: s.Identity.SetupPath, Hosted: e.SetupPath},
		{Field: "identity.pid_path", Declared: s.Identity.PIDPath, Hosted: e.PIDPath},
		{Field: "identity.user", Declared: s.Identity.User, Hosted: e.User},
		{Field: "control.start_cmd", Declared: orBlank(s.Control.StartCmd), Hosted: e.StartCmd},
		{Field: "control.stop_cmd", Declared: orBlank(s.Control.StopCmd), Hosted: e.StopCmd},
		{Field: "control.restart_cmd", Declared: orBlank(s.Control.RestartCmd), Hosted: e.RestartCmd},
		{Field: "control.reload_cmd", Declared: orBlank(s.Control.ReloadCmd), Hosted: e.ReloadCmd},
		{Field: "control.kill_cmd", Declared: orBlank(s.Control.KillCmd), Hosted: e.KillCmd},
		{Field: "control.version_cmd", Declared: orBlank(s.Control.VersionCmd), Hosted: e.VersionCmd},
		{Field: "control.health_cmd", Declared: orBlank(s.Control.HealthCmd), Hosted: e.HealthCmd},
		{Field: "resource.cpu", Declared: percent(limits.CPU), Hosted: percent(e.CPU)},
		{Field: "resource.mem", Declared: percent(limits.Mem), Hosted: percent(e.Mem)},
	}
	if e.HasAutoType {
		fields = append(fields, fleet.Difference{Field: "monitor_policy.auto_type", Declared: number(s.MonitorPolicy.AutoType), Hosted: number(e.AutoType)})
	}
	if secs := s.MonitorPolicy.StartCheckSecs; secs != nil && *secs != 0 && e.StartCheckSecs != 0 {
		fields = append(fields, fleet.Difference{Field: "monitor_policy.start_check_secs", Declared: number(*secs), Hosted: number(e.StartCheckSecs)})
	}
	if secs := s.OpTimeout; secs != nil && sendsTimeout && *secs != 0 && e.OpTimeout != 0 {
		fields = append(fields, fleet.Difference{Field: "monitor_policy.op_timeout", Declared: number(*secs), Hosted: number(e.OpTimeout)})
	}
	return slices.DeleteFunc(fields, func(f fleet.Difference) bool {
		return strings.TrimSpace(f.Declared) == strings.TrimSpace(f.Hosted)
	})
}

func orBlank(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// percent formats n with the digits of a 32-bit float, because an agent may keep 10.1 as 10.100000381469727.
func percent(n float64) string { return strconv.FormatFloat(n, 'f', -1, 32) }

var _ fleet.Verifier = (*Process)(nil)

// Hosting implements fleet.Verifier.
func (p *Process) Hosting(ctx context.Context, hosts []fleet.Host) map[fleet.Host]fleet.Hosting {
	found := make(map[fleet.Host]fleet.Hosting, len(hosts))
	if p.spec == nil {
		for _, h := range hosts {
			found[h] = fleet.Hosting{Why: fleet.ErrNoSpec.Error()}
		}
		return found
	}
	for h, reading := range p.client.ReadHosted(ctx, hosts, hostedspec.IsWindows(p.spec.Identity.SetupPath)) {
		found[h] = p.hosting(reading)
	}
	return found
}

// hosting returns what a reading shows about this process. If its key has two entries, one that differs counts.
func (p *Process) hosting(reading hostedspec.Reading) fleet.Hosting {
	found := fleet.Hosting{Why: reading.Reason()}
	for _, e := range reading.Entries {
		own := e.Namespace == p.meta.Namespace && e.Name == p.meta.Name
		switch {
		case own && e.Why != "":
			return fleet.Hosting{Why: e.Why}
		case own:
			if found.Hosted {
				found.Beside = append(found.Beside, e.Key()+" once more")
			}
			found.Hosted = true
			if len(found.Differs) == 0 {
				found.Differs = p.spec.Differences(e, p.HostingRegisters())
			}
		case e.PIDPath == p.spec.Identity.PIDPath:
			found.Beside = append(found.Beside, p.client.opts.Redact(e.Key()))
		}
	}
	found.Beside = slices.Compact(found.Beside)
	for i, f := range found.Differs {
		found.Differs[i].Hosted = p.client.opts.Redact(f.Hosted)
	}
	return found
}
