package processoperation

import (
	"fmt"
	"sync"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// progress reports the progress of a rollout. It reports each change, but no more often than the pace allows.
// Without a change, it repeats the last message after a while.
type progress struct {
	pace  platform.Pace
	title string
	send  func(string)
	began time.Time
	end   chan struct{}
	ended sync.WaitGroup

	mu     sync.Mutex
	latest fleet.Progress
	unsent bool      // latest has not been sent yet
	sent   time.Time // time of the last message
}

// newProgress returns a progress that reports until stop is called. Its time begins now.
func newProgress(pace platform.Pace, title string, send func(string)) *progress {
	p := &progress{pace: pace, title: title, send: send, began: pace.Now(), end: make(chan struct{})}
	p.ended.Go(p.repeat)
	return p
}

// update stores the latest counts, and sends them unless the last message is too recent.
func (p *progress) update(latest fleet.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.sent.IsZero()
	p.latest, p.unsent = latest, true
	if first || p.pace.Now().Sub(p.sent) >= p.pace.MinInterval {
		p.sendLocked()
	}
}

// stop sends an unsent message. Nothing is sent after stop has returned.
func (p *progress) stop() {
	close(p.end)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unsent {
		p.sendLocked()
	}
}

// repeat sends updates that came too soon after another message, and repeats the last message if nothing has
// changed for long.
func (p *progress) repeat() {
	ticker := time.NewTicker(max(p.pace.MinInterval, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		silence := p.pace.Now().Sub(p.sent)
		if !p.sent.IsZero() && ((p.unsent && silence >= p.pace.MinInterval) || silence >= p.pace.MaxInterval) {
			p.sendLocked()
		}
		p.mu.Unlock()
	}
}

func (p *progress) sendLocked() {
	p.sent, p.unsent = p.pace.Now(), false
	p.send(p.message())
}

// message returns a line such as "restart web:nginx: 812/1000 done, 3 failed, wave 9/10 (1m10s)".
func (p *progress) message() string {
	n, more := p.latest, ""
	if n.Unknown > 0 {
		more = fmt.Sprintf(", %d outcome unknown", n.Unknown)
	}
	if n.Watched > 0 {
		more += fmt.Sprintf(", waiting for %d to be stable", n.Watched)
	}
	return fmt.Sprintf("%s: %d/%d done, %d failed%s, wave %d/%d (%s)",
		p.title, n.Done, n.Hosts, n.Failed, more, n.Wave, n.Waves, p.pace.Now().Sub(p.began).Truncate(time.Second))
}
