// Command texts writes what the string literals of Go files say to files of their own, each text in
// the line that it has in the code: Vale reads comments of Go, and no strings.
//
// usage: texts FOLDER TO
package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	from, to := os.Args[1], os.Args[2]
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		lines, err := texts(path)
		if err != nil || len(lines) == 0 {
			return err
		}
		file := filepath.Join(to, path+".md")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// texts are the lines of a file with its strings of several words.
func texts(path string) ([]string, error) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, path, nil, 0)
	if err != nil {
		return nil, err
	}
	var lines []string
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil || strings.Count(text, " ") < 2 {
			return true
		}
		line := positions.Position(literal.Pos()).Line
		parts := []string{strings.ReplaceAll(text, "\n", " ")}
		if literal.Value[0] == '`' {
			parts = strings.Split(text, "\n")
		}
		for i, part := range parts {
			for len(lines) < line+i {
				lines = append(lines, "")
			}
			lines[line+i-1] += part + " "
		}
		return true
	})
	return lines, nil
}
