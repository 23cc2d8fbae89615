package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// The pages about permissions list by gateway what the table of credentials, which is held
// against what is called, lists by object.
func TestPermissions_areThoseOfTheTable(t *testing.T) {
	t.Parallel()
	table, err := providertest.EndpointTable()
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[bkapi.Gateway]map[string][]string) // objects by API
	for object, byGateway := range table {
		for gateway, apis := range byGateway {
			for _, api := range apis {
				if want[gateway] == nil {
					want[gateway] = make(map[string][]string)
				}
				want[gateway][api] = append(want[gateway][api], object)
				slices.Sort(want[gateway][api])
			}
		}
	}
	for _, name := range []string{"permissions.md.tmpl", "zh-permissions.md.tmpl"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "templates", "guides", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(want, permissionsOf(string(page))); diff != "" {
			t.Errorf("%s (-table of credentials +page):\n%s", name, diff)
		}
	}
}

// permissionsOf reads the rows of a page: the API, what for, whether it changes anything,
// the objects that call it. The second chapters are about the ESB and the gateway.
func permissionsOf(page string) map[bkapi.Gateway]map[string][]string {
	found := make(map[bkapi.Gateway]map[string][]string)
	name := regexp.MustCompile("`([a-z0-9_]+)`")
	var gateway bkapi.Gateway
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "## ") {
			gateway = bkapi.APIGW
			if strings.Contains(line, "ESB") {
				gateway = bkapi.ESB
			}
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		if found[gateway] == nil {
			found[gateway] = make(map[string][]string)
		}
		var objects []string
		for _, match := range name.FindAllStringSubmatch(cells[4], -1) {
			objects = append(objects, match[1])
		}
		slices.Sort(objects)
		found[gateway][name.FindStringSubmatch(cells[1])[1]] = objects
	}
	return found
}
