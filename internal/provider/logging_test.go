package provider

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-log/tflogtest"
)

// A line has its attributes in order, and stays one line with any values.
func TestLogger(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	ctx := tflogtest.RootLogger(t.Context(), &text)
	newLogger().With("process", "web:nginx").WarnContext(ctx, "called API", "api", "operate_proc_v2", "hosts", "0:10.0.0.1, 0:10.0.0.2", "reason", "one\ntwo")
	lines, err := tflogtest.MultilineJSONDecode(&text)
	if err != nil || len(lines) != 1 {
		t.Fatal(lines, err)
	}
	want := `called API: process=web:nginx api=operate_proc_v2 hosts="0:10.0.0.1, 0:10.0.0.2" reason=one\ntwo`
	if lines[0]["@message"] != want || lines[0]["@level"] != strings.ToLower(slog.LevelWarn.String()) {
		t.Errorf("it logs %v, want %s", lines[0], want)
	}
}
