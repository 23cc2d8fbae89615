package bkapi

import (
	"strings"
	"testing"
)

// BenchmarkRedactor redacts a body of the largest size that is quoted, with the contents that cost most.
func BenchmarkRedactor(b *testing.B) {
	redact := newRedactor("0123456789abcdef/+\"é", "another-secret-of-letters")
	for name, text := range map[string]string{
		"json":        strings.Repeat(`{"ip":"10.0.0.1","bk_cloud_id":0,"spec":{"start_cmd":"./start.sh --port 80 && echo \"up\""}},`, 700),
		"json-nested": strings.Repeat(`{\"ip\":\"10.0.0.1\",\"spec\":{\"start_cmd\":\"./start.sh \\\"up\\\"\"}},`, 900),
		"backslashes": strings.Repeat(`\`, 64<<10),
		"percents":    strings.Repeat(`%25`, 64<<10/3),
		"ampersands":  strings.Repeat(`&amp;`, 64<<10/5),
		"chinese":     strings.Repeat("进程启动失败", 64<<10/18),
		"latin-1":     strings.Repeat("\xe9\xc3", 32<<10),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				redact.text(text)
			}
		})
	}
}
