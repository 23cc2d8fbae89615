package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun_topology(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "topology.json")
	text := `{"businesses":[{"id":3,"name":"shop","sets":[{"name":"gz","modules":[{"name":"nginx","hosts":[{"ip":"10.0.0.1","agent_id":"0200000007525400f355781710390005465c"}]}]}]}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := start(t, io.Discard, "-topology", file, "-app-code", "app", "-app-secret", "shh", "-quiet")
	answer := send(t, http.MethodPost, url+"/api/c/compapi/v2/cc/list_biz_hosts/",
		`{"bk_app_code":"app","bk_app_secret":"shh","bk_username":"admin","bk_biz_id":3,"fields":["bk_agent_id"],"page":{"start":0,"limit":500}}`)
	if !strings.Contains(answer, `{"bk_agent_id":"0200000007525400f355781710390005465c"}`) {
		t.Errorf("CMDB: %s", answer)
	}
	answer = send(t, http.MethodPost, url+"/api/c/compapi/v2/gse/register_proc_info/", registration)
	if !strings.Contains(answer, `"0:0:10.0.0.1:web:nginx":{"content":"","error_code":0`) {
		t.Errorf("process service: %s", answer)
	}
	_ = send(t, http.MethodPost, url+"/_sim/cmdb", `{"action":"add","module":"shop/gz/nginx","hosts":{"ip":"10.0.0.2"}}`)
	if modules := get(t, url+"/_sim/cmdb"); !strings.Contains(modules, "0:10.0.0.2") {
		t.Errorf("modules: %s", modules)
	}
}
