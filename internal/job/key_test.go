package job

import (
	"slices"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// A result is found under each form of key in the document or in a client, and under no other.
func TestKeys(t *testing.T) {
	t.Parallel()
	const (
		linux   = "/data/nginx/bin"
		windows = `C:\gse\plugins`
	)
	for name, test := range map[string]struct {
		setupPath, valueKey, host string
		key                       string
		others                    []string
	}{
		"documented": {linux, "", "0:10.0.0.1", "/data/nginx/bin/nginx:0:10.0.0.1", []string{
			"/data/nginx/bin/nginx:0:10.0.0.10", "/data/nginx/bin/nginx:1:10.0.0.1", "/data/nginx/bin/nginx2:0:10.0.0.1",
			"/data/nginx/bin/nginx", "nginx:0:10.0.0.1", "0:10.0.0.1", "", ":0:10.0.0.1",
		}},
		"slash-dropped":         {linux + "/", "", "0:10.0.0.1", "/data/nginx/bin/nginx:0:10.0.0.1", nil},
		"slash-kept":            {linux + "/", "", "0:10.0.0.1", "/data/nginx/bin//nginx:0:10.0.0.1", nil},
		"slash-not-put-in":      {linux, "", "0:10.0.0.1", "/data/nginx/binnginx:0:10.0.0.1", nil},
		"path-last":             {linux, "", "0:10.0.0.1", "0:10.0.0.1:/data/nginx/bin/nginx", nil},
		"root":                  {"/", "", "0:10.0.0.1", "/nginx:0:10.0.0.1", nil},
		"value-key":             {linux, "key_test", "0:10.0.0.1", "key_test:0:10.0.0.1", []string{"other:0:10.0.0.1"}},
		"value-key-last":        {linux, "key_test", "0:10.0.0.1", "0:10.0.0.1:key_test", nil},
		"value-key-unused":      {linux, "key_test", "0:10.0.0.1", "/data/nginx/bin/nginx:0:10.0.0.1", nil},
		"value-key-with-colons": {linux, "a:b", "3:10.0.0.1", "a:b:3:10.0.0.1", []string{"a:b:0:10.0.0.1"}},
		"windows":               {windows, "", "0:10.0.0.1", `C:\gse\plugins/nginx:0:10.0.0.1`, nil},
		"windows-backslash":     {windows + `\`, "", "0:10.0.0.1", `C:\gse\plugins\nginx:0:10.0.0.1`, nil},
		"windows-both":          {windows + `\`, "", "0:10.0.0.1", `C:\gse\plugins/nginx:0:10.0.0.1`, nil},
		"ipv6":                  {linux, "", "0:2001:DB8::0:1", "/data/nginx/bin/nginx:0:2001:db8::1", nil},
		"ipv6-last":             {linux, "", "0:2001:db8::1", "0:2001:db8::1:/data/nginx/bin/nginx", nil},
		"supplier":              {linux, "", "0:7:10.0.0.1", "/data/nginx/bin/nginx:0:10.0.0.1", []string{"/data/nginx/bin/nginx:0:7:10.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := Info{ProcName: "nginx", SetupPath: test.setupPath, PIDPath: "/run/nginx.pid"}
			if test.valueKey != "" {
				info.ValueKey = new(test.valueKey)
			}
			keys := slices.Collect(keysOf(info)(procapitest.Parse(t, test.host)[0]))
			if !slices.Contains(keys, test.key) {
				t.Errorf("%q is not among %q", test.key, keys)
			}
			for _, other := range test.others {
				if slices.Contains(keys, other) {
					t.Errorf("%q is among %q", other, keys)
				}
			}

			p, _ := scripted(t, "", accepted, result(said("0:10.9.9.9", code(117), test.key, code(0))))
			results := p.client.Process(scope, "", info).Operate(t.Context(), fleet.Start, procapitest.Parse(t, test.host), nil)
			if failures := results.Failures(); len(results) != 1 || len(failures) > 0 {
				t.Errorf("got %v", results)
			}
		})
	}
}

// An empty value_key is ignored: it must not make a key of the address alone.
func TestKeys_emptyValueKey(t *testing.T) {
	t.Parallel()
	keys := slices.Collect(keysOf(Info{ProcName: "nginx", SetupPath: "/data", ValueKey: new("")})(host(1)))
	for _, not := range []string{":0:10.0.0.1", "0:10.0.0.1:"} {
		if slices.Contains(keys, not) {
			t.Errorf("%q is among %q", not, keys)
		}
	}
}
