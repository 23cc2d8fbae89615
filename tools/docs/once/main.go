// Command once reduces a page to one section for each nested schema. tfplugindocs repeats the
// section for attributes with the same schema, such as spec and processes.spec, which then link
// to one section. It also shortens headings and links.
//
// usage: once PAGE...
package main

import (
	"fmt"
	"log"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	for _, page := range os.Args[1:] {
		text, err := os.ReadFile(page)
		if err == nil {
			err = os.WriteFile(page, []byte(once(string(text))), 0o644)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// section is the section of one nested schema. Its path is as in its link: processes--spec.
type section struct{ path, text string }

var start = regexp.MustCompile(`(?m)^<a id="nestedatt--([\w-]+)"></a>$`)

// once returns a page without sections that repeat another one.
func once(page string) string {
	above, sections, below := split(page)
	shown := make(map[string]string) // by the content of a schema, the path of the section that stays
	removed := make(map[string]string)
	for _, s := range shallowFirst(sections) {
		if inside(s.path, removed) {
			continue
		}
		says := schemaOf(sections, s.path)
		if to, ok := shown[says]; ok {
			removed[s.path] = to
		} else {
			shown[says] = s.path
		}
	}
	sections = slices.DeleteFunc(sections, func(s section) bool { return inside(s.path, removed) })
	var b strings.Builder
	b.WriteString(above)
	for _, s := range sections {
		b.WriteString(s.text)
	}
	page = b.String() + below
	for from, to := range removed {
		page = strings.ReplaceAll(page, "(see [below for nested schema](#nestedatt--"+from+"))",
			fmt.Sprintf("([`%s`](#nestedatt--%s))", strings.ReplaceAll(to, "--", "."), to))
	}
	return strings.NewReplacer("(see [below for nested schema](", "([below](", "### Nested Schema for `", "### `").Replace(page)
}

// split returns the sections of a page, and the text above and below them.
func split(page string) (above string, sections []section, below string) {
	starts := start.FindAllStringSubmatchIndex(page, -1)
	if starts == nil {
		return page, nil, ""
	}
	end := len(page)
	if chapter := strings.Index(page[starts[0][0]:], "\n## "); chapter >= 0 {
		end = starts[0][0] + chapter
	}
	for i, at := range starts {
		next := end
		if i+1 < len(starts) {
			next = starts[i+1][0]
		}
		sections = append(sections, section{page[at[2]:at[3]], page[at[0]:next]})
	}
	return page[:starts[0][0]], sections, page[end:]
}

// shallowFirst puts spec before processes--spec, so that spec stays.
func shallowFirst(sections []section) []section {
	return slices.SortedStableFunc(slices.Values(sections), func(a, b section) int {
		return strings.Count(a.path, "--") - strings.Count(b.path, "--")
	})
}

// schemaOf returns the content of the sections at and below a path, without the path.
func schemaOf(sections []section, path string) string {
	var b strings.Builder
	heading := "### Nested Schema for `" + strings.ReplaceAll(path, "--", ".")
	names := strings.NewReplacer("nestedatt--"+path, "nestedatt", heading, "### Nested Schema for `")
	for _, s := range sections {
		if s.path == path || strings.HasPrefix(s.path, path+"--") {
			b.WriteString(strings.TrimSpace(names.Replace(s.text)) + "\n")
		}
	}
	return b.String()
}

// inside reports whether a path is one of the removed paths, or below one.
func inside(path string, removed map[string]string) bool {
	for above := range removed {
		if path == above || strings.HasPrefix(path, above+"--") {
			return true
		}
	}
	return false
}
