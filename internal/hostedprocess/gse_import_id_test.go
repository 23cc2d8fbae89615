package hostedprocess

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is taken for an import id is one: its parts are put together to one that means the same.
func FuzzParseImportID(f *testing.F) {
	for _, id := range []string{
		"web:nginx", "web:nginx@0:10.0.0.1", "web:nginx@0:10.0.0.1, 0:0:[2001:db8::1]", "web:nginx:1@" + strings.Repeat("0a", 16),
		"web:nginx@", "web", ":", "@", "web:nginx@@", "web:nginx@,", "we\u00a0b:nginx", "web:nginx@0:10.0.0.1@b", "web:nginx@a=0:10.0.0.1, b=c=d", "\xff:\x00",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		parsed, err := parseImportID(id)
		if err != nil {
			if diff := cmp.Diff(importID{}, parsed, cmp.AllowUnexported(importID{})); diff != "" {
				t.Errorf("%q: beside the error (-want +got):\n%s", id, diff)
			}
			return
		}
		if parsed.namespace == "" || parsed.name == "" {
			t.Errorf("%q has an empty part: %+v", id, parsed)
		}
		written := parsed.namespace + ":" + parsed.name
		separator := "@"
		for _, key := range slices.Sorted(maps.Keys(parsed.hosts)) {
			if key == "" || parsed.hosts[key] == "" {
				t.Errorf("%q has an empty host: %+v", id, parsed)
			}
			written += separator + key + "=" + parsed.hosts[key]
			separator = ","
		}
		again, err := parseImportID(written)
		if err != nil {
			t.Fatalf("%q became %q: %v", id, written, err)
		}
		if diff := cmp.Diff(parsed, again, cmp.AllowUnexported(importID{})); diff != "" {
			t.Errorf("%q became %q (-first +again):\n%s", id, written, diff)
		}
	})
}
