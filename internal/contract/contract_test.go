package contract_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
)

func TestCases(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, c := range contract.Cases() {
		if seen[c.ID()] {
			t.Errorf("%s is there twice", c.ID())
		}
		seen[c.ID()] = true
		request, response := object(t, c.ID(), c.Request), object(t, c.ID(), c.Response)
		if _, has := request["bk_app_code"]; has == strings.HasSuffix(c.Face, "apigw") {
			t.Errorf("%s: only the gateway wants no credentials in the body", c.ID())
		}
		if _, has := response["result"]; has == (c.Face == "apigw") {
			t.Errorf("%s: only GSE answers without result, through the gateway", c.ID())
		}
		if got := contract.Get(c.ID()); string(got.Request) != string(c.Request) {
			t.Errorf("%s is another case by its ID", c.ID())
		}
	}
	for _, face := range []string{"esb/operate_proc_v2/host", "apigw/operate_proc_multi/unhost-agents", "job/get_proc_result/biz", "cmdb/list_biz_hosts/odd", "cmdb-apigw/find_host_by_topo/past"} {
		if !seen[face] {
			t.Errorf("%s is missing", face)
		}
	}
}

// Every file has the name of a body, because others would belong to no case.
func TestFiles(t *testing.T) {
	t.Parallel()
	for folder, name := range map[string]*regexp.Regexp{
		"testdata": regexp.MustCompile(`^(esb|apigw|job|cmdb|cmdb-apigw)/[a-z0-9_]+/(request|response)(-[a-z]+)*\.json$|^script/read_hosted\.(sh|ps1)$`),
		"seen":     regexp.MustCompile(`^(esb|apigw)/[a-z0-9_]+/(asked|answer)(-[a-z]+)+\.json$`),
	} {
		files := 0
		if err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			files++
			raw, err := fs.ReadFile(os.DirFS(folder), path)
			if !name.MatchString(path) {
				t.Errorf("%s is not named as a body is", path)
			}
			if folder == "testdata" && strings.Contains(string(raw), "crotab_rule") {
				t.Errorf("%s has the spelling of the samples in it", path)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		if seen := len(contract.Asked()) + len(contract.Answered()); folder == "seen" && (seen != files || files == 0) {
			t.Errorf("%d of %d files are found", seen, files)
		}
	}
}

func TestSeen(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(contract.Asked(), contract.Answered()) {
		object(t, s.ID(), s.Body)
	}
}

func object(t *testing.T, id string, raw []byte) map[string]any {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Errorf("%s: %v", id, err)
	}
	return members
}
