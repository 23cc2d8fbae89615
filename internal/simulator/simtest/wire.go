package simtest

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"
)

// BodyOf is the whole answer of the ESB.
func (c *Client) BodyOf(api, body string) string {
	c.T.Helper()
	got, err := c.Exchange(c.T.Context(), http.MethodPost, ESB(api), body, nil)
	Must(c.T, err)
	return got.Text
}

// Impatient posts, and closes the connection when far returns true. It returns the answer so far.
func (c *Client) Impatient(api, body string, far func() bool) (string, error) {
	c.T.Helper()
	ctx, cancel := context.WithCancel(c.T.Context())
	defer cancel()
	go func() {
		for !far() && ctx.Err() == nil {
			<-time.After(time.Millisecond)
		}
		cancel()
	}()
	got, err := c.Exchange(ctx, http.MethodPost, ESB(api), body, nil)
	return got.Text, err
}

// Buffer is written by a server and read by a test.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
