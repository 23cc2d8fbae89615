package simulator_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// bodyOf reads all of an answer.
func (c *client) bodyOf(api, body string) string {
	c.t.Helper()
	resp, err := c.post(api, body)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// impatient posts, and goes away when the request has got as far as it will. It
// gives what was answered, if anything was.
func (c *client) impatient(api, body string, far func() bool) (string, error) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	go func() {
		for !far() && ctx.Err() == nil {
			<-time.After(time.Millisecond)
		}
		cancel()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/api/c/compapi/v2/gse/"+api+"/", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
