package fleet

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Waves are the sizes of the waves of a rollout, as users write them. "50" is 50 hosts, "10%" a
// share of all hosts (rounded up), "+50" 50 more than the wave before, "*2" twice as many. The last
// one repeats. No sizes are one wave of all hosts.
type Waves []waveSize

type waveSize struct {
	unit  byte // one of the constants below
	count int
}

const (
	sizeHosts   = 'n'
	sizePercent = '%'
	sizeMore    = '+'
	sizeTimes   = '*'
)

// WaveForms says how the size of a wave is written.
const WaveForms = `a number of hosts ("50"), a share of all hosts ("10%"), or relative to the wave before ("+50" or "*2")`

var wavePattern = regexp.MustCompile(`^([+*]?)([0-9]{1,7})(%?)$`)

// ParseWaves reads sizes of waves. The error names the entry, and says what is wrong with
// it.
func ParseWaves(texts []string) (Waves, error) {
	waves := make(Waves, 0, len(texts))
	for i, text := range texts {
		size, err := parseWave(text, i == 0)
		if err != nil {
			return nil, err
		}
		waves = append(waves, size)
	}
	return waves, nil
}

// CheckWave is the error of one of the sizes, which may be the first.
func CheckWave(text string, first bool) error {
	_, err := parseWave(text, first)
	return err
}

func parseWave(text string, first bool) (waveSize, error) {
	size, fault := waveOf(text, first)
	if fault != "" {
		return waveSize{}, fmt.Errorf("%q %s", text, fault)
	}
	return size, nil
}

// waveOf is a size, or what is wrong with its text.
func waveOf(text string, first bool) (size waveSize, fault string) {
	parts := wavePattern.FindStringSubmatch(text)
	if parts == nil || parts[1] != "" && parts[3] != "" {
		return waveSize{}, "is not the size of a wave, which is " + WaveForms
	}
	size = waveSize{unit: sizeHosts}
	size.count, _ = strconv.Atoi(parts[2]) // seven digits at most
	if sign := parts[1] + parts[3]; sign != "" {
		size.unit = sign[0]
	}
	switch relative := size.unit == sizeMore || size.unit == sizeTimes; {
	case relative && first:
		return waveSize{}, "is relative to the wave before, and the first wave has none; begin with a number or a percentage"
	case size.count == 0:
		return waveSize{}, "is a wave that never grows or has no hosts; the least is 1"
	case size.unit == sizePercent && size.count > 100:
		return waveSize{}, "is more than all hosts; the most is 100%"
	case size.unit == sizeTimes && size.count == 1:
		return waveSize{}, "is as large as the wave before, and the last size repeats by itself; leave it out, or write *2 or more"
	}
	return size, ""
}

// BatchesOf returns waves of one size, or no waves for 0.
func BatchesOf(size int) Waves {
	if size <= 0 {
		return nil
	}
	return Waves{{unit: sizeHosts, count: size}}
}

// Sizes cuts count hosts into waves. Shares are of all hosts, which may be more than
// those to be cut.
func (w Waves) Sizes(count, all int) []int {
	if count <= 0 {
		return nil
	}
	if len(w) == 0 {
		return []int{count}
	}
	var sizes []int
	for last := 0; count > 0; {
		size := w[min(len(sizes), len(w)-1)]
		switch size.unit {
		case sizePercent:
			last = (all*size.count + 99) / 100
		case sizeMore:
			last += size.count
		case sizeTimes:
			last *= size.count
		default:
			last = size.count
		}
		last = min(last, count)
		sizes = append(sizes, last)
		count -= last
	}
	return sizes
}

// Tolerance is how many hosts may fail: a number of them, or a share of all hosts, rounded
// down.
type Tolerance struct {
	count   int
	percent bool
}

var tolerancePattern = regexp.MustCompile(`^([0-9]{1,7})(%?)$`)

// ParseTolerance reads "3" or "10%".
func ParseTolerance(text string) (Tolerance, error) {
	parts := tolerancePattern.FindStringSubmatch(text)
	if parts == nil {
		return Tolerance{}, fmt.Errorf(`%q is neither a number of hosts ("3") nor a share of all hosts ("10%%")`, text)
	}
	count, _ := strconv.Atoi(parts[1]) // seven digits at most
	if parts[2] != "" && count > 100 {
		return Tolerance{}, fmt.Errorf("%q is more than all hosts; the most is 100%%", text)
	}
	return Tolerance{count: count, percent: parts[2] != ""}, nil
}

// UpTo tolerates as many hosts.
func UpTo(count int) Tolerance { return Tolerance{count: count} }

// Of is how many of all hosts may fail.
func (t Tolerance) Of(all int) int {
	if t.percent {
		return all * t.count / 100
	}
	return t.count
}

// A wave is a row of steps, each of which waits for its slowest host. Agents are asked, and hosts
// are registered, operated and looked at. A host that does not answer fails at the step that waits
// for it, and later steps send it nothing. So that it fails alone, no step uses the time that later
// steps need for the other hosts.

// Quick is how long a step may take that runs no command on hosts, such as asking agents or
// registering.
const Quick = 30 * time.Second

// Patience is how long agents are asked at the most, however much time there is.
const Patience = 2 * time.Minute

// Aftermath is how long agents are asked once more, after something was done. Most have just answered.
const Aftermath = 15 * time.Second

// Besides is the time that a wave needs besides its operation: to ask agents before it, to
// register, to look at the outcome, and to host what is not hosted.
const Besides = 4 * Quick

// Takes is how long an operation may take on a host.
func Takes(p Process, op Operation) time.Duration {
	if op == Supervise || op == Unsupervise {
		return Quick
	}
	takes, _, stopCheck := p.Settles()
	if op.Stops() {
		takes += stopCheck
	}
	return takes + StartCheck(p, op)
}

// StartCheck is how long after the command of an operation the agent looks whether the process
// runs, 0 if the operation starts nothing.
func StartCheck(p Process, op Operation) time.Duration {
	if !op.Starts() {
		return 0
	}
	_, startCheck, _ := p.Settles()
	return startCheck
}

// Share bounds a step. own is the time that it needs, later the time that the steps after it need.
// It gets all that those do not need. If there is too little for all, it gets its share.
func Share(ctx context.Context, own, later time.Duration) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, share(time.Until(deadline), own, later))
}

func share(left, own, later time.Duration) time.Duration {
	part := own.Seconds() / (own + later).Seconds()
	return max(left-later, time.Duration(part*float64(left)))
}

// askedBefore is LiveStatus as a step. An agent that has not answered by its end is not known.
func askedBefore(ctx context.Context, p Process, hosts []Host, later time.Duration) (map[Host]Status, error) {
	ctx, cancel := Share(ctx, Quick, later)
	defer cancel()
	ctx, cancelPatience := context.WithTimeout(ctx, Patience)
	defer cancelPatience()
	return p.LiveStatus(ctx, hosts)
}

// cachedBefore is CachedStatus as a step: where there is no file, the agents are asked.
func cachedBefore(ctx context.Context, p Process, hosts []Host, later time.Duration) (map[Host]Status, error) {
	ctx, cancel := Share(ctx, Quick, later)
	defer cancel()
	return p.CachedStatus(ctx, hosts)
}

// operateBefore is Operate as a step.
func operateBefore(ctx context.Context, p Process, op Operation, hosts []Host, observe Observer, later time.Duration) Results {
	ctx, cancel := Share(ctx, Takes(p, op), later)
	defer cancel()
	return p.Operate(ctx, op, hosts, observe)
}

// needs is how long a step without a command needs for hosts, nothing for none.
func needs(hosts []Host) time.Duration {
	if len(hosts) == 0 {
		return 0
	}
	return Quick
}

// reregister is Reregister as a step.
func reregister(ctx context.Context, p Process, hosts []Host, later time.Duration) Results {
	ctx, cancel := Share(ctx, Quick, later)
	defer cancel()
	return p.Reregister(ctx, hosts)
}
