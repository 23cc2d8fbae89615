package job

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// What the client reports of a host contains no secret.
func TestProcess_repeatsNoSecret(t *testing.T) {
	t.Parallel()
	_, url := newScript(t, accepted, result(said(key(1), `{"error_code":65535,"error_msg":"sent: s3cret"}`)))
	client := newTestClient(t, url, func(cfg *bkapi.Config, _ *Options) { cfg.AppSecret = "s3cret" })
	results := client.Process(scope, "", operateInfo()).Operate(t.Context(), fleet.Start, hosts(1), nil)
	if got := results[host(1)].Message; !strings.Contains(got, "sent: ***") {
		t.Errorf("got %q", got)
	}
}
