// Command texts extracts the texts of Go files for Vale, which itself reads no strings, and no sentences in
// comments. Strings go to x.go.md, and comments to x.go.comments.md, each on the same line as in the code.
// Tests are left out.
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
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(to, path+".md"), messages(file, positions)); err != nil {
			return err
		}
		return write(filepath.Join(to, path+".comments.md"), comments(file, positions))
	})
	if err != nil {
		log.Fatal(err)
	}
}

func write(path string, texts lines) error {
	if len(texts) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Join(texts, "\n")+"\n"), 0o600)
}

// lines are the lines of a file; lines[0] is line 1.
type lines []string

func (l *lines) add(line int, text string) {
	for len(*l) < line {
		*l = append(*l, "")
	}
	(*l)[line-1] += text + " "
}

// messages returns the strings in a file that have at least three words.
func messages(file *ast.File, positions *token.FileSet) (texts lines) {
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil || strings.Count(text, " ") < 2 {
			return true
		}
		parts := []string{strings.ReplaceAll(text, "\n", " ")}
		if literal.Value[0] == '`' {
			parts = strings.Split(text, "\n")
		}
		for i, part := range parts {
			texts.add(positions.Position(literal.Pos()).Line+i, part)
		}
		return true
	})
	return texts
}

// comments returns the paragraphs of the comments in a file, each on its first line. Code, lists and
// directives end a paragraph and are left out. A comment after code is a paragraph of its own.
func comments(file *ast.File, positions *token.FileSet) (texts lines) {
	hasCode := make(map[int]bool) // by line
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		}
		hasCode[positions.Position(n.Pos()).Line] = true
		hasCode[positions.Position(n.End()).Line] = true
		return true
	})
	for _, group := range file.Comments {
		first := 0 // line of the paragraph
		for _, comment := range group.List {
			text, isLine := strings.CutPrefix(comment.Text, "// ")
			if hasCode[positions.Position(comment.Pos()).Line] {
				first, text = 0, "- "+text // a list item ends with its line
			}
			switch {
			case !isLine || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "nolint"):
				first = 0
			default:
				if first == 0 {
					first = positions.Position(comment.Pos()).Line
				}
				texts.add(first, text)
			}
		}
	}
	return texts
}
