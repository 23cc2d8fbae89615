package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

func TestWaves_Sizes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waves      []string
		count, all int
		want       []int
	}{
		"none":               {nil, 7, 7, []int{7}},
		"none-of-none":       {nil, 0, 0, nil},
		"no-hosts":           {[]string{"1"}, 0, 0, nil},
		"one-size-repeats":   {[]string{"3"}, 8, 8, []int{3, 3, 2}},
		"larger-than-all":    {[]string{"50"}, 8, 8, []int{8}},
		"exactly-all":        {[]string{"4"}, 8, 8, []int{4, 4}},
		"as-designed":        {[]string{"1", "10%", "*2"}, 1000, 1000, []int{1, 100, 200, 400, 299}},
		"more-each-time":     {[]string{"1", "+2"}, 16, 16, []int{1, 3, 5, 7}},
		"times-repeats":      {[]string{"1", "*3"}, 41, 41, []int{1, 3, 9, 27, 1}},
		"share-rounds-up":    {[]string{"10%"}, 11, 11, []int{2, 2, 2, 2, 2, 1}},
		"share-is-never-0":   {[]string{"1%"}, 3, 3, []int{1, 1, 1}},
		"all-of-them":        {[]string{"100%"}, 3, 3, []int{3}},
		"share-of-more":      {[]string{"10%"}, 40, 100, []int{10, 10, 10, 10}},
		"relative-to-share":  {[]string{"10%", "+5"}, 40, 100, []int{10, 15, 15}},
		"ends-before-growth": {[]string{"2", "100%"}, 2, 2, []int{2}},
		"huge-factor":        {[]string{"9999999", "*9999999"}, 10000001, 10000001, []int{9999999, 2}},
	} {
		fleettest.Same(t, name+": sizes", c.want, waves(c.waves...).Sizes(c.count, c.all))
	}
	fleettest.Same(t, "batches of 2 are", []int{2, 2, 1}, fleet.BatchesOf(2).Sizes(5, 5))
}

func TestParseWaves_refuses(t *testing.T) {
	t.Parallel()
	const noSize = ` is not the size of a wave, which is ` + fleet.WaveForms
	const relative = ` is relative to the wave before, and the first wave has none; begin with a number or a percentage`
	for name, c := range map[string]struct {
		waves []string
		want  string
	}{
		"nothing":           {[]string{""}, `""` + noSize},
		"word":              {[]string{"1", "half"}, `"half"` + noSize},
		"space":             {[]string{"1 %"}, `"1 %"` + noSize},
		"negative":          {[]string{"-1"}, `"-1"` + noSize},
		"fraction":          {[]string{"0.5"}, `"0.5"` + noSize},
		"relative-share":    {[]string{"1", "+10%"}, `"+10%"` + noSize},
		"too-long":          {[]string{"12345678"}, `"12345678"` + noSize},
		"none":              {[]string{"0"}, `"0" is a wave that never grows or has no hosts; the least is 1`},
		"none-in-percent":   {[]string{"0%"}, `"0%" is a wave that never grows or has no hosts; the least is 1`},
		"never-grows":       {[]string{"1", "+0"}, `"+0" is a wave that never grows or has no hosts; the least is 1`},
		"times-none":        {[]string{"1", "*0"}, `"*0" is a wave that never grows or has no hosts; the least is 1`},
		"times-one":         {[]string{"1", "*1"}, `"*1" is as large as the wave before, and the last size repeats by itself; leave it out, or write *2 or more`},
		"more-than-all":     {[]string{"101%"}, `"101%" is more than all hosts; the most is 100%`},
		"begins-with-plus":  {[]string{"+1"}, `"+1"` + relative},
		"begins-with-times": {[]string{"*2"}, `"*2"` + relative},
	} {
		waves, err := fleet.ParseWaves(c.waves)
		fleettest.Check(t, err != nil && err.Error() == c.want, "%s: got %v, %v\nwant %s", name, waves, err, c.want)
	}
}

func TestTolerance(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[int]int{
		"0":    {0: 0, 10: 0},
		"3":    {0: 3, 2: 3, 1000: 3},
		"0%":   {1000: 0},
		"10%":  {0: 0, 9: 0, 10: 1, 19: 1, 1000: 100},
		"100%": {7: 7},
	} {
		tolerance, err := fleet.ParseTolerance(text)
		fleettest.NoError(t, err)
		for all, want := range want {
			fleettest.Same(t, fmt.Sprintf("%s of %d hosts are", text, all), want, tolerance.Of(all))
		}
	}
	const neither = ` is neither a number of hosts ("3") nor a share of all hosts ("10%")`
	for text, want := range map[string]string{
		"": `""` + neither, "-1": `"-1"` + neither, "some": `"some"` + neither, "1.5": `"1.5"` + neither, "+1": `"+1"` + neither,
		"101%": `"101%" is more than all hosts; the most is 100%`,
	} {
		_, err := fleet.ParseTolerance(text)
		fleettest.Check(t, err != nil && err.Error() == want, "%q: %v, want %s", text, err, want)
	}
	fleettest.Same(t, "up to 2", 2, fleet.UpTo(2).Of(1000))
}

// A step gets what the steps after it do not need, and its share where that is more.
func TestShare(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct{ left, own, later, want time.Duration }{
		"plenty":        {600 * s, 30 * s, 120 * s, 480 * s},
		"just-enough":   {150 * s, 30 * s, 120 * s, 30 * s},
		"too-little":    {50 * s, 30 * s, 120 * s, 10 * s},
		"nothing-later": {50 * s, 30 * s, 0, 50 * s},
		"time-is-up":    {-s, 30 * s, 120 * s, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				whole, cancel := context.WithTimeout(t.Context(), c.left)
				defer cancel()
				step, cancelStep := fleet.Share(whole, c.own, c.later)
				defer cancelStep()
				<-step.Done()
				fleettest.Same(t, "the step had", c.want, time.Since(began))
			})
		})
	}
}

// A check that the process runs follows only what starts it.
func TestTakes(t *testing.T) {
	t.Parallel()
	const command, check = time.Minute, 5 * time.Second
	for op, want := range map[fleet.Operation]time.Duration{
		fleet.Start: command + check, fleet.Restart: command + check, fleet.Stop: command, fleet.Reload: command, fleet.Kill: command,
		fleet.Supervise: fleet.Quick, fleet.Unsupervise: fleet.Quick,
	} {
		fleettest.Same(t, "takes "+string(op), want, fleet.Takes(&process{}, op))
	}
}

func TestShare_unbounded(t *testing.T) {
	t.Parallel()
	step, cancel := fleet.Share(t.Context(), fleet.Quick, fleet.Quick)
	defer cancel()
	deadline, bounded := step.Deadline()
	fleettest.Check(t, !bounded, "the step ends at %s", deadline)
}
