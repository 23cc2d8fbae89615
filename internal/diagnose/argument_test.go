package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

func TestHostsArgument(t *testing.T) {
	t.Parallel()
	many := make(map[string]string)
	for n := range 100 {
		many[fmt.Sprintf("web-%d", n)] = fmt.Sprintf("0:10.0.0.%d", n)
	}
	for name, c := range map[string]struct {
		addresses map[string]string
		want      string
	}{
		"in-natural-order": {
			map[string]string{"web-10": "0:10.0.0.10", "web-9": "0:10.0.0.9"},
			"  hosts={\n    \"web-9\" = \"0:10.0.0.9\", \"web-10\" = \"0:10.0.0.10\"\n  }",
		},
		"keys-are-escaped": {
			map[string]string{`a"b\c${d}%{e}<f>`: "0:10.0.0.1"},
			"  hosts={\n    \"a\\\"b\\\\c$${d}%%{e}<f>\" = \"0:10.0.0.1\"\n  }",
		},
		"a-host-with-a-long-key": {
			map[string]string{strings.Repeat("k", 200): "0:10.0.0.1", "l": "0:10.0.0.2"},
			"  hosts={\n    \"" + strings.Repeat("k", 200) + "\" = \"0:10.0.0.1\"\n    \"l\" = \"0:10.0.0.2\"\n  }",
		},
	} {
		same(t, name, c.want, HostsArgument(c.addresses))
	}
	for spare, lines := range map[int]int{0: 2, 1: 1} { // a second host fits where a column is left
		key := strings.Repeat("k", argumentWidth-len(`    "" = "0:10.0.0.1"`)-len(`"z" = "0:10.0.0.2"`)-spare)
		if text := HostsArgument(map[string]string{key: "0:10.0.0.1", "z": "0:10.0.0.2"}); strings.Count(text, "\n") != 1+lines {
			t.Errorf("want %d lines of hosts:\n%s", lines, text)
		}
	}
	text := HostsArgument(many)
	if n := strings.Count(text, " = \"0:"); n != len(many) {
		t.Errorf("%d hosts of %d:\n%s", n, len(many), text)
	}
	for line := range strings.Lines(text) {
		if len(line) > argumentWidth+4 || strings.HasSuffix(line, ",\n") {
			t.Errorf("a line of %d: %q", len(line), line)
		}
	}
}
