package bkapi_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

func TestDenialOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step http.HandlerFunc
		want bkapi.Denial
	}{
		"wrong-secret":   {reply(http.StatusUnauthorized, `{"code":1640101,"message":"App authentication failed","data":null,"result":false}`), bkapi.DeniedApp},
		"wrong-token":    {reply(http.StatusUnauthorized, `{"code":1640102,"message":"User authentication failed","data":null,"result":false}`), bkapi.DeniedUser},
		"unknown-code":   {reply(http.StatusUnauthorized, `{"error":{"code":"UNAUTHENTICATED","message":"who?"}}`), bkapi.DeniedIdentity},
		"no-permission":  {reply(http.StatusForbidden, `{"code":1640301,"message":"App has no permission to the resource"}`), bkapi.DeniedPermission},
		"another-server": {replyAs("text/html", http.StatusForbidden, "<html>403</html>"), bkapi.NotDenied},
		"not-found":      {reply(http.StatusNotFound, `{"code":1640401}`), bkapi.NotDenied},
		"in-an-envelope": {reply(http.StatusOK, `{"code":1640101}`), bkapi.NotDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newClient(t, testConfig(newServer(t, test.step).URL)).Call(t.Context(), query, nil, nil)
			if got := bkapi.DenialOf(err); got != test.want {
				t.Errorf("%q, want %q: %v", got, test.want, err)
			}
		})
	}
	if got := bkapi.DenialOf(errors.New("HTTP 401")); got != bkapi.NotDenied {
		t.Errorf("another error: %q", got)
	}
}
