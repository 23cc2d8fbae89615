package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

var writeReference = flag.Bool("write-reference", false, "let TestReference_pages write the Chinese pages in place of comparing them")

// zhReference has the layouts of the Chinese pages, one for each English template, and the glossary.
const zhReference = "tools/docs/zh"

// An object is what a reference page describes, with its schema.
type object struct {
	kind, name           string // the kind is the directory of the English page
	summary, description string
	attributes           []*tfprotov6.SchemaAttribute
}

func objects(t *testing.T) []object {
	t.Helper()
	p := providertest.NewProtocol(t)
	var all []object
	kinds := map[string]string{"resource": "resources", "data": "data-sources", "list": "list-resources", "action": "actions"}
	for block, s := range p.Blocks() {
		kind, name, _ := strings.Cut(block, " ")
		all = append(all, object{kinds[kind], cmp.Or(name, "index"), "", s.Block.Description, s.Block.Attributes})
	}
	for name, f := range p.Schema.Functions {
		parameters := make([]*tfprotov6.SchemaAttribute, len(f.Parameters))
		for i, p := range f.Parameters {
			parameters[i] = &tfprotov6.SchemaAttribute{Name: p.Name, Type: p.Type, Description: p.Description, Required: true}
		}
		all = append(all, object{"functions", name, f.Summary, f.Description, parameters})
	}
	slices.SortFunc(all, func(a, b object) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) })
	return all
}

func (o object) english() string {
	return filepath.ToSlash(filepath.Join("docs", o.kind, strings.TrimPrefix(o.name, "bk_")+".md"))
}

// chinese returns the Chinese page of an object, which has to be a guide.
func (o object) chinese() string { return "docs/guides/" + chinesePage(o.kind, o.name) }

func chinesePage(kind, name string) string {
	page := strings.TrimPrefix(name, "bk_")
	if kind != "" {
		page = strings.TrimSuffix(kind, "s") + "-" + page
	}
	return "zh-" + strings.ReplaceAll(page, "_", "-") + ".md"
}

// Each object has a page in Chinese: its layout, with the object's examples and tables of its attributes
// in the words of the glossary.
func TestReference_pages(t *testing.T) {
	t.Parallel()
	words, known := glossary(t), make(map[string]bool)
	for _, o := range objects(t) {
		known[o.chinese()] = true
		page := o.render(t, words)
		providertest.Rendered(t, *writeReference, o.chinese(), page)
		if *writeReference {
			continue
		}
		if o.kind != "" && !strings.Contains(read(t, "docs/guides/zh-index.md"), "("+filepath.Base(o.chinese())+")") {
			t.Errorf("zh-index.md does not lead to %s", o.chinese())
		}
		english := codeOf(read(t, o.english()))
		for _, block := range codeOf(page) {
			if !slices.Contains(english, block) {
				t.Errorf("%s has code that %s does not have:\n%s", o.chinese(), o.english(), block)
			}
		}
	}
	guides, err := filepath.Glob("docs/guides/zh-*.md")
	providertest.NoError(t, err)
	for _, guide := range guides {
		if guide = filepath.ToSlash(guide); strings.Contains(read(t, guide), referenceSubcategory) && !known[guide] {
			t.Errorf("%s is about no object", guide)
		}
	}
}

const referenceSubcategory = "\nsubcategory: \"参考（中文）\"\n"

// The glossary has each description of the schemas, with its attributes, values and code unchanged, and nothing else.
func TestReference_glossary(t *testing.T) {
	t.Parallel()
	words, where := glossary(t), make(map[string][]string)
	for _, o := range objects(t) {
		o.describe(func(at, description string) {
			where[description] = append(where[description], strings.TrimSpace(o.english()+" "+at))
		})
	}
	for _, description := range slices.Sorted(maps.Keys(where)) {
		switch chinese, translated := words[description]; {
		case !translated:
			t.Errorf("%s has a description that %s/glossary.txt lacks. Add it, and its Chinese in the next line:\n%s", strings.Join(where[description], ", "), zhReference, description)
		case !slices.Equal(codeSpans(description), codeSpans(chinese)):
			t.Errorf("%s: code in English and in Chinese differs (-English +Chinese):\n%s\n%s", where[description][0], chinese, gocmp.Diff(codeSpans(description), codeSpans(chinese)))
		}
	}
	for _, english := range slices.Sorted(maps.Keys(words)) {
		if where[english] == nil {
			t.Errorf("%s/glossary.txt has a description that no schema has any more: delete or correct it:\n%s\n%s", zhReference, english, words[english])
		}
	}
}

// describe visits all descriptions of an object, each with its attribute.
func (o object) describe(visit func(at, description string)) {
	if o.summary != "" {
		visit("", o.summary)
	}
	visit("", o.description)
	providertest.EachAttribute(o.attributes, func(at string, a *tfprotov6.SchemaAttribute) { visit(at, a.Description) })
}

// glossary reads the Chinese of descriptions. An entry is a line in English and one in Chinese. Empty lines separate entries.
func glossary(t *testing.T) map[string]string {
	t.Helper()
	words := make(map[string]string)
	for entry := range strings.SplitSeq(strings.TrimSpace(read(t, zhReference+"/glossary.txt")), "\n\n") {
		english, chinese, _ := strings.Cut(entry, "\n")
		providertest.Check(t, chinese != "" && !strings.Contains(chinese, "\n"), "want a line in English and one in Chinese:\n%s", entry)
		providertest.Check(t, words[english] == "", "this entry exists twice:\n%s", english)
		words[english] = chinese
	}
	return words
}

var codeSpan = regexp.MustCompile("`[^`]+`")

// codeSpans returns the distinct pieces of code in a text, sorted.
func codeSpans(text string) []string {
	return slices.Compact(slices.Sorted(slices.Values(codeSpan.FindAllString(text, -1))))
}

// render fills in the layout of an object's page, which is its own or that of its kind. Text that the glossary lacks stays
// English, and TestReference_glossary reports it.
func (o object) render(t *testing.T, words map[string]string) string {
	t.Helper()
	file := filepath.Join(zhReference, o.kind, strings.TrimPrefix(o.name, "bk_")+".md.tmpl")
	if _, err := os.Stat(file); err != nil {
		file = filepath.Join(zhReference, o.kind+".md.tmpl")
	}
	chinese := func(english string) string { return cmp.Or(words[english], english) }
	code := func(language, file string) string {
		return "```" + language + "\n" + strings.TrimSpace(read(t, file)) + "\n```"
	}
	layout, err := template.New(filepath.Base(file)).Funcs(template.FuncMap{
		"tffile":   func(file string) string { return code("terraform", file) },
		"codefile": code,
		"page":     chinesePage,
		"plain": func(text string) string {
			return strings.ReplaceAll(markdownLink.ReplaceAllString(text, "$1"), "`", "")
		},
	}).ParseFiles(file)
	providertest.NoError(t, err)
	examples, err := filepath.Glob(filepath.Join("examples", o.kind, o.name, "*.tf*"))
	providertest.NoError(t, err)
	tables := &attributeTables{chinese: chinese, printed: make(map[string]*tfprotov6.SchemaObject)}
	tables.print("", o.attributes)
	var page strings.Builder
	err = layout.Execute(&page, map[string]any{
		"Name": o.name, "Summary": chinese(o.summary), "Description": chinese(o.description), "Examples": examples,
		"Signature": signature.FindString(read(t, o.english())), "Attributes": strings.TrimSpace(tables.text.String()),
	})
	providertest.NoError(t, err)
	return page.String()
}

var (
	markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	signature    = regexp.MustCompile("```text\n[a-z_]+\\(.*\n```") // of a function, in its English page
)

// attributeTables prints a table of the attributes of an object, followed by one for each nested attribute. Attributes with the
// same nested attributes share a table.
type attributeTables struct {
	chinese func(english string) string
	text    strings.Builder
	printed map[string]*tfprotov6.SchemaObject // by path
}

func (p *attributeTables) print(above string, attributes []*tfprotov6.SchemaAttribute) {
	attributes = slices.Clone(attributes)
	slices.SortStableFunc(attributes, func(a, b *tfprotov6.SchemaAttribute) int { return cmp.Compare(usage(a), usage(b)) })
	var nested []*tfprotov6.SchemaAttribute
	p.text.WriteString("| 名称 | 类型 | 要求 | 说明 |\n|---|---|---|---|\n")
	for _, a := range attributes {
		description := p.chinese(a.Description)
		if a.NestedType != nil {
			path := p.pathOf(above+a.Name, a.NestedType)
			description += fmt.Sprintf("下级属性见 [`%s`](#%s)。", path, anchorOf(path))
			if path == above+a.Name {
				nested = append(nested, a)
			}
		}
		fmt.Fprintf(&p.text, "| `%s` | `%s` | %s | %s |\n", a.Name, typeName(a), usageNames[usage(a)]+sensitive(a), strings.ReplaceAll(description, "|", `\|`))
	}
	for _, a := range nested {
		path := above + a.Name
		fmt.Fprintf(&p.text, "\n<a id=\"%s\"></a>\n### `%s`\n\n", anchorOf(path), path)
		p.print(path+".", a.NestedType.Attributes)
	}
}

// pathOf returns where the nested attributes are printed: at the first attribute that has them.
func (p *attributeTables) pathOf(path string, nested *tfprotov6.SchemaObject) string {
	for _, first := range slices.Sorted(maps.Keys(p.printed)) {
		if reflect.DeepEqual(p.printed[first].Attributes, nested.Attributes) {
			return first
		}
	}
	p.printed[path] = nested
	return path
}

func anchorOf(path string) string { return "nestedatt--" + strings.ReplaceAll(path, ".", "--") }

var usageNames = []string{"必填", "可选", "只读"}

func usage(a *tfprotov6.SchemaAttribute) int {
	switch {
	case a.Required:
		return 0
	case a.Optional:
		return 1
	}
	return 2
}

func sensitive(a *tfprotov6.SchemaAttribute) string {
	if a.Sensitive {
		return "，敏感"
	}
	return ""
}

func typeName(a *tfprotov6.SchemaAttribute) string {
	if a.NestedType == nil {
		return typeOf(a.Type)
	}
	return nestings[a.NestedType.Nesting]
}

var nestings = map[tfprotov6.SchemaObjectNestingMode]string{
	tfprotov6.SchemaObjectNestingModeSingle: "object",
	tfprotov6.SchemaObjectNestingModeList:   "list(object)",
	tfprotov6.SchemaObjectNestingModeSet:    "set(object)",
	tfprotov6.SchemaObjectNestingModeMap:    "map(object)",
}

func typeOf(typ tftypes.Type) string {
	switch typ := typ.(type) {
	case tftypes.List:
		return "list(" + typeOf(typ.ElementType) + ")"
	case tftypes.Set:
		return "set(" + typeOf(typ.ElementType) + ")"
	case tftypes.Map:
		return "map(" + typeOf(typ.ElementType) + ")"
	case tftypes.Object:
		return "object"
	}
	switch {
	case typ.Is(tftypes.String):
		return "string"
	case typ.Is(tftypes.Number):
		return "number"
	case typ.Is(tftypes.Bool):
		return "bool"
	}
	return "any"
}
