package simtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// BodyOf reads the whole answer.
func (c *Client) BodyOf(api, body string) string {
	c.T.Helper()
	resp, err := c.Post(api, body)
	if err != nil {
		c.T.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.T.Fatal(err)
	}
	return string(text)
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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/api/c/compapi/v2/gse/"+api+"/", strings.NewReader(body))
	if err != nil {
		c.T.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
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
