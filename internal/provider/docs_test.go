package provider_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// Every object of the provider has a page, every page has an object, and both have an example. Objects
// that an older Terraform lacks say since which version they exist.
func TestDocs_everyObject(t *testing.T) {
	t.Parallel()
	served := providertest.NewProtocol(t).Schema
	for kind, c := range map[string]struct {
		objects []string
		example string // below examples/<kind>/<object>
		needs   string // text on each page
	}{
		"resources":      {names(served.ResourceSchemas), "resource.tf", ""},
		"data-sources":   {names(served.DataSourceSchemas), "data-source.tf", ""},
		"actions":        {names(served.ActionSchemas), "action.tf", "Needs Terraform 1.14 or later"},
		"list-resources": {names(served.ListResourceSchemas), "list-resource.tfquery.hcl", "Needs Terraform 1.14 or later"},
		"functions":      {names(served.Functions), "function.tf", "Needs Terraform 1.8 or later"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join("..", "..", "docs", kind, "*"))
			if err != nil {
				t.Fatal(err)
			}
			pages := make([]string, len(files))
			for i, file := range files {
				pages[i] = filepath.Base(file)
			}
			want := make([]string, len(c.objects))
			for i, object := range c.objects {
				want[i] = strings.TrimPrefix(object, "bk_") + ".md"
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, pages); diff != "" {
				t.Errorf("docs/%s (-served +pages); make generate renders them:\n%s", kind, diff)
			}
			for i, object := range c.objects {
				example := providertest.ReadExample(t, filepath.Join(kind, object, c.example))
				page, err := os.ReadFile(filepath.Join("..", "..", "docs", kind, want[i]))
				if err != nil {
					t.Error(err)
					continue
				}
				if !strings.Contains(string(page), strings.TrimSpace(example)) {
					t.Errorf("docs/%s/%s does not show its example", kind, want[i])
				}
				if !strings.Contains(string(page), c.needs) {
					t.Errorf("docs/%s/%s does not say %q", kind, want[i], c.needs)
				}
			}
		})
	}
}

func names[T any](schemas map[string]T) []string { return slices.Sorted(maps.Keys(schemas)) }
