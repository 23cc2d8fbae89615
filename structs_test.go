package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// What decides about hosts holds few values at a time. What a platform answers, and a model of
// Terraform's, have as many fields as those have.
func TestStructs_haveTenFieldsAtMost(t *testing.T) {
	t.Parallel()
	const most = 10
	answers := map[string]bool{"Status": true, "Outcome": true, "lifecycleModel": true}
	found := 0
	for _, folder := range []string{"fleet", "hostedprocess", "ownership"} {
		files := providertest.Glob(t, filepath.Join("internal", folder, "*.go"))
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			providertest.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				spec, isType := n.(*ast.TypeSpec)
				if !isType || strings.HasSuffix(name, "_test.go") {
					return true
				}
				if of, isStruct := spec.Type.(*ast.StructType); isStruct {
					found++
					if n := fieldsOf(of); n > most && !answers[spec.Name.Name] {
						t.Errorf("%s: %s has %d fields, more than %d", name, spec.Name.Name, n, most)
					}
				}
				return true
			})
		}
	}
	if found < 20 {
		t.Errorf("only %d structs were found", found)
	}
}

// fieldsOf counts an embedded struct as one.
func fieldsOf(of *ast.StructType) int {
	n := 0
	for _, field := range of.Fields.List {
		n += max(1, len(field.Names))
	}
	return n
}
