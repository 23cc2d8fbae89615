package bkapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	json "github.com/go-json-experiment/json/v1"
)

// Headers that the platform defines.
const (
	headerAuthorization = "X-Bkapi-Authorization"
	headerRequestID     = "X-Bkapi-Request-Id"
	headerTenantID      = "X-Bk-Tenant-Id"
)

// credentials has the member names that both gateways use. Exactly one of the last three is set.
type credentials struct {
	AppCode     string `json:"bk_app_code"`
	AppSecret   string `json:"bk_app_secret"`
	Username    string `json:"bk_username,omitempty"`
	Token       string `json:"bk_token,omitempty"`
	AccessToken string `json:"access_token,omitempty"`
}

func marshalCredentials(cfg Config) ([]byte, error) {
	creds, err := json.Marshal(credentials{
		AppCode:     cfg.AppCode,
		AppSecret:   cfg.AppSecret,
		Username:    cfg.Username,
		Token:       cfg.Token,
		AccessToken: cfg.AccessToken,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding credentials: %w", err)
	}

	return creds, nil
}

// marshalRequest returns in as a JSON object. A nil in becomes an empty object.
func marshalRequest(in any) ([]byte, error) {
	object, err := json.Marshal(in)
	switch {
	case err != nil:
		return nil, err
	case string(object) == "null":
		return []byte("{}"), nil
	case object[0] != '{':
		return nil, errors.New("not a JSON object")
	}

	return object, nil
}

// joinObjects returns one JSON object with the unchanged members of both. It splices the texts, so that a
// request for 1,000 hosts is not parsed just to add three members.
func joinObjects(a, b []byte) []byte {
	if bytes.Equal(b, []byte("{}")) {
		return a
	}

	joined := make([]byte, 0, len(a)+len(b))
	joined = append(joined, a[:len(a)-1]...)
	joined = append(joined, ',')

	return append(joined, b[1:]...)
}

func (c *Client) setHeaders(header http.Header, requestID string) {
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
	header.Set(headerRequestID, requestID)

	// An empty value sends no header, instead of Go's own user agent.
	header.Set("User-Agent", c.userAgent)

	if c.tenantID != "" {
		header.Set(headerTenantID, c.tenantID)
	}
	if c.gateway == APIGW {
		header.Set(headerAuthorization, string(c.credentials))
	}
}
