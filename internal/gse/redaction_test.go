package gse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// echoed is a platform's message that repeats the secret of quick's clients.
const echoed = `sent: s3cret`

// What the client reports of a host contains no secret, whichever call the platform answered.
func TestProcess_repeatsNoSecret(t *testing.T) {
	t.Parallel()
	failed := fmt.Sprintf(`{"error_code":65535,"error_msg":%q}`, echoed)
	long := `"` + strings.Repeat("x", 190) + echoed + `"` // no result, and quoted up to the secret's middle
	answer := func(raw string) []exchange { return []exchange{accepted, result(said(v2(1), raw))} }
	live := func(content string) []exchange { return answer(`{"error_code":0,"content":` + asText(content) + `}`) }
	operate := procapitest.Operate(fleet.Start)
	for name, test := range map[string]struct {
		call  procapitest.Call
		steps []exchange
	}{
		"register":            {procapitest.Reregister, []exchange{{API: apiUpdate, Reply: procapitest.Data(said(v1(1), failed))}}},
		"operate":             {operate, answer(failed)},
		"no-result":           {operate, answer(long)},
		"task":                {operate, []exchange{{API: apiOperate, Reply: procapitest.Data(fmt.Sprintf(`{"task_id":%q}`, echoed))}, result(said(v2(1), code(0)))}},
		"cached-version":      {procapitest.CachedStatus, []exchange{cached(strings.Replace(cachedRow(1, 1), `"status"`, `"version":"`+echoed+`","status"`, 1))}},
		"live-version":        {procapitest.LiveStatus, live(one(`{"pid":42,"isAuto":true,"version":"` + echoed + `"}`))},
		"unreadable":          {procapitest.LiveStatus, live(echoed)},
		"unreadable-and-long": {procapitest.LiveStatus, live(strings.Repeat("x", 193) + echoed)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, test.steps...)
			switch made := test.call(t.Context(), quick(t, url).Process(sampleMeta, sampleSpec()), hosts(1)).(type) {
			case map[string]fleet.Outcome:
				wantNoSecret(t, made[host(1).Address()].Message+made[host(1).Address()].TaskID)
			case map[string]fleet.Status:
				wantNoSecret(t, made[host(1).Address()].Version+made[host(1).Address()].Message)
			default:
				t.Error(made)
			}
		})
	}
}

// wantNoSecret checks that text has what surrounds the secret, and no part of the secret.
func wantNoSecret(t *testing.T, text string) {
	t.Helper()
	if before, after, found := strings.Cut(text, "sent: "); !found && !strings.HasSuffix(text, "sent…") || strings.HasPrefix(after, "s") {
		t.Errorf("got %q and %q", before, after)
	}
}
