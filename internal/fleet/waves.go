package fleet

import (
	"fmt"
	"regexp"
	"strconv"
)

// Waves are the sizes of the waves of a rollout, as users write them. "50" is 50 hosts, "10%" a share of all
// hosts (rounded up), "+50" 50 more than the wave before, "*2" twice as many. The last size repeats. Without
// sizes, all hosts are one wave.
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

// WaveForms describes the size of a wave to users.
const WaveForms = `a number of hosts ("50"), a share of all hosts ("10%"), or relative to the wave before ("+50" or "*2")`

var wavePattern = regexp.MustCompile(`^([+*]?)([0-9]{1,7})(%?)$`)

// ParseWaves parses sizes of waves. The error names the entry and what is wrong with it.
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

// CheckWave returns the error in one of the sizes. first says whether it is the first.
func CheckWave(text string, first bool) error {
	_, err := parseWave(text, first)
	return err
}

func parseWave(text string, first bool) (waveSize, error) {
	wrong := func(why string) (waveSize, error) { return waveSize{}, fmt.Errorf("%q %s", text, why) }
	parts := wavePattern.FindStringSubmatch(text)
	if parts == nil || parts[1] != "" && parts[3] != "" {
		return wrong("is not the size of a wave, which is " + WaveForms)
	}
	size := waveSize{unit: sizeHosts}
	size.count, _ = strconv.Atoi(parts[2]) // seven digits at most
	if sign := parts[1] + parts[3]; sign != "" {
		size.unit = sign[0]
	}
	switch relative := size.unit == sizeMore || size.unit == sizeTimes; {
	case relative && first:
		return wrong("is relative to the wave before, and the first wave has none; begin with a number or a percentage")
	case size.count == 0:
		return wrong("is a wave that never grows or has no hosts; the least is 1")
	case size.unit == sizePercent && size.count > 100:
		return wrong("is more than all hosts; the most is 100%")
	case size.unit == sizeTimes && size.count == 1:
		return wrong("is as large as the wave before, and the last size repeats by itself; leave it out, or write *2 or more")
	}
	return size, nil
}

// BatchesOf returns waves of one size, or no waves if size is 0.
func BatchesOf(size int) Waves {
	if size <= 0 {
		return nil
	}
	return Waves{{unit: sizeHosts, count: size}}
}

// Sizes divides count hosts into waves. Percentages are of all hosts, which may be more than count.
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

// Tolerance is how many hosts may fail: a number, or a percentage of all hosts, rounded down.
type Tolerance struct {
	count   int
	percent bool
}

var tolerancePattern = regexp.MustCompile(`^([0-9]{1,7})(%?)$`)

// ParseTolerance parses "3" or "10%".
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

// UpTo returns the tolerance of count hosts.
func UpTo(count int) Tolerance { return Tolerance{count: count} }

// Of returns how many of all hosts may fail.
func (t Tolerance) Of(all int) int {
	if t.percent {
		return all * t.count / 100
	}
	return t.count
}
