package provider_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
			var pages []string
			for _, object := range c.objects {
				file := filepath.Join("..", "..", "docs", kind, strings.TrimPrefix(object, "bk_")+".md")
				pages = append(pages, file)
				page, example := providertest.ReadFile(t, file), providertest.ReadExample(t, filepath.Join(kind, object, c.example))
				if !strings.Contains(page, strings.TrimSpace(example)) || !strings.Contains(page, c.needs) {
					t.Errorf("%s does not show its example, or does not say %q", file, c.needs)
				}
			}
			providertest.Same(t, "pages of what is served, and rendered by make generate", pages, providertest.Glob(t, "../../docs/"+kind+"/*"))
		})
	}
}

func names[T any](schemas map[string]T) []string { return slices.Sorted(maps.Keys(schemas)) }
