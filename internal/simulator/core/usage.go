package core

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// usage is a process's use of the machine.
type usage struct {
	cpu, mem float64 // percent of the whole machine
	rss      int64   // bytes
}

// virtualUsage is the usage of every running virtual process, from the documents' sample.
var virtualUsage = usage{cpu: 0.1, mem: 0.1}

// sample is a measurement of a local process. Its cpu is the share since the previous sample, or since
// the process started if there is none.
type sample struct {
	pid  int
	at   time.Time
	cpu  time.Duration // used so far
	used usage
}

// usageLocked returns the last known usage of a running process.
func (g *GSE) usageLocked(p *process) usage {
	if !g.isLocal(p.target) {
		return virtualUsage
	}
	lp := g.localLocked(p.target, p.key)
	if lp.sampled.pid != p.pid {
		lp.sampled = takeSample(p.pid, lp.sampled)
	}
	return lp.sampled.used
}

func (g *GSE) sampleLocked(p *process) usage {
	lp := g.localLocked(p.target, p.key)
	lp.sampled = takeSample(p.pid, lp.sampled)
	return lp.sampled.used
}

// over describes the limit of the spec that is exceeded, "" if none is.
func (u usage) over(sp *Spec) string {
	switch {
	case sp.cpu != nil && u.cpu > *sp.cpu:
		return fmt.Sprintf("cpu usage %.1f%% is over the limit of %.1f%%", u.cpu, *sp.cpu)
	case sp.mem != nil && u.mem > *sp.mem:
		return fmt.Sprintf("mem usage %.1f%% is over the limit of %.1f%%", u.mem, *sp.mem)
	}
	return ""
}

// takeSample reads /proc: only the process itself, without its children, which is simpler than a real
// agent. Without /proc it finds nothing, so limits have no effect.
func takeSample(pid int, last sample) sample {
	now := sample{pid: pid, at: time.Now()}
	fields, ok := procStat(pid)
	if !ok {
		return now
	}
	now.cpu = ticks(fields[statUTime]) + ticks(fields[statSTime])
	since, elapsed := time.Duration(0), time.Duration(0)
	if last.pid == pid && now.at.Sub(last.at) > 10*clockTick {
		since, elapsed = last.cpu, now.at.Sub(last.at)
	} else if age, ok := processAge(pid); ok {
		elapsed = age
	}
	// A younger process has used too few ticks for a percentage.
	if elapsed > 10*clockTick {
		now.used.cpu = 100 * (now.cpu - since).Seconds() / elapsed.Seconds() / float64(runtime.NumCPU())
	}
	now.used.rss = parseInt(fields[statRSS]) * int64(os.Getpagesize())
	if total := memTotal(); total > 0 {
		now.used.mem = 100 * float64(now.used.rss) / float64(total)
	}
	return now
}

// memTotal returns the machine's memory in bytes.
func memTotal() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			return parseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB")) * 1024
		}
	}
	return 0
}
