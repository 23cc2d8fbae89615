package bkapi

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseEnvelope(t *testing.T) {
	t.Parallel()
	for _, success := range []string{
		`{"result":true,"code":"0","data":1}`, `{"result":true,"code":"00","data":1}`, `{"result":true,"code":"","data":1}`,
		`{"result":true,"code":null,"data":1}`, `{"result":true,"data":1}`, `{"code":0.0,"data":1}`, `{"result":null,"code":0,"data":1}`,
		`{"result":true,"code":0,"error":null,"data":1}`, `{"result":true,"code":0,"error":"","data":1}`,
		`{"result":true,"code":0,"permission":null,"data":1}`, " \n{\"code\":0,\"data\":1}\n ",
	} {
		got, err := parseEnvelope([]byte(success))
		if diff := cmp.Diff(envelope{ok: true, data: []byte("1")}, got, cmp.AllowUnexported(envelope{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got): %s", success, err, diff)
		}
	}
	for name, test := range map[string]struct {
		body string
		want envelope
	}{
		"esb":                     {`{"result":true,"code":0,"message":"ok","data":1}`, envelope{ok: true, message: "ok"}},
		"gateway":                 {`{"code":0,"message":"ok","data":1}`, envelope{ok: true, message: "ok"}},
		"code-and-result-missing": {`{"message":"ok","data":1}`, envelope{ok: true, message: "ok"}},
		"legacy":                  {`{"bk_error_code":0,"bk_error_msg":"ok","data":1}`, envelope{ok: true, message: "ok", older: true}},

		"queued":             {`{"result":false,"code":1000115,"message":"redis","data":1}`, envelope{code: 1000115, message: "redis"}},
		"gateway-no":         {`{"code":1640301,"message":"no","data":1}`, envelope{code: 1640301, message: "no"}},
		"false-with-zero":    {`{"result":false,"code":0,"message":"no","data":1}`, envelope{message: "no"}},
		"false-without-code": {`{"result":false,"message":"no","data":1}`, envelope{message: "no"}},
		"false-as-text":      {`{"result":"false","code":"","data":1}`, envelope{}},
		"true-with-code":     {`{"result":true,"code":7,"data":1}`, envelope{code: 7}},
		"code-as-text":       {`{"code":"1000115","data":1}`, envelope{code: 1000115}},
		"code-as-float":      {`{"code":1.000115e6,"data":1}`, envelope{code: 1000115}},
		"code-negative":      {`{"code":-1,"data":1}`, envelope{code: -1}},
		"code-a-word":        {`{"code":"DENIED","message":"no","data":1}`, envelope{message: "DENIED no"}},
		"code-a-bool":        {`{"code":true,"data":1}`, envelope{message: "true"}},
		"message-object":     {`{"code":7,"message":{"ip":["bad"]},"data":1}`, envelope{code: 7, message: `{"ip":["bad"]}`}},
		"message-null":       {`{"code":7,"message":null,"data":1}`, envelope{code: 7}},
		"legacy-no":          {`{"bk_error_code":115,"bk_error_msg":"no","data":1}`, envelope{code: 115, message: "no", older: true}},
		"legacy-behind-code": {`{"code":"","bk_error_code":"115","data":1}`, envelope{code: 115}},
		"legacy-against-0":   {`{"code":0,"bk_error_code":115,"data":1}`, envelope{code: 115}},
		"gateway-error":      {`{"error":{"code":"UNAUTHENTICATED","message":"no"},"data":1}`, envelope{message: "UNAUTHENTICATED no"}},
		"gateway-code":       {`{"error":{"code":1642901},"data":1}`, envelope{code: 1642901}},
		"request-id":         {`{"code":7,"request_id":"r1","data":1}`, envelope{code: 7, requestID: "r1"}},
	} {
		got, err := parseEnvelope([]byte(test.body))
		if err != nil {
			t.Fatal(name, err)
		}
		test.want.data = []byte("1")
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(envelope{})); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
}

func TestParseEnvelope_isNone(t *testing.T) {
	t.Parallel()
	deep := `{"code":0,"data":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}"
	for _, body := range []string{
		"", " \r\n", "<html></html>", `[{"code":0}]`, `"ok"`, "null", "{}", `{"message":"not found"}`, `{"data":1}`,
		`{"error":null}`, `{"error":"boom"}`, `{"result":true,"code":0,"data":{"a":`, `{"code":0}{"code":0}`, deep,
	} {
		if got, err := parseEnvelope([]byte(body)); err == nil {
			t.Errorf("%.40s: got %+v, want an error", body, got)
		}
	}
}

func FuzzParseEnvelope(f *testing.F) {
	f.Add([]byte(`{"result":true,"code":"00","message":null,"data":{},"error":{"code":1}}`))
	f.Add([]byte(`{"code":1e400}`))
	f.Add([]byte(`{"code":0,"data":{"a":{"n":1,"s":"x"},"b":null},"request_id":"r"}`))
	f.Add([]byte(`{"result":true,"data":{"a":{"n":"1"}},"error":{"message":"m","data":1}}`))
	f.Add([]byte(`{"Code":0,"DATA":{"a":{}},"message":"m"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		type data map[string]*struct {
			N int
			S string
		}
		var atOnce, out data
		plain, read := readAtOnce(body, &atOnce)
		env, err := parseEnvelope(body)
		if err == nil && env.ok && env.code != 0 {
			t.Errorf("ok with code %d", env.code)
		}
		if err == nil {
			err = decodeData(env.data, &out)
		}
		env.data = nil
		if twice := bytes.Count(bytes.ToLower(body), []byte("data")) > 1 || bytes.ContainsAny(body, `\ſ`); !read || twice {
			return
		}
		if diff := cmp.Diff(env, plain, cmp.AllowUnexported(envelope{})) + cmp.Diff(out, atOnce); err != nil || diff != "" {
			t.Errorf("read at once and in two steps: %v %s", err, diff)
		}
	})
}
