package faultmatrix

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pageDefect is a defect that random histories find when it is put back.
type pageDefect struct{ Title, FoundBy string }

// pageDefects are those of the table by which internal/histories puts them back.
func pageDefects(t *testing.T) []pageDefect {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "histories", "testdata", "defects.json"))
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		Title   string   `json:"title"`
		FoundBy []string `json:"found_by"`
	}
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	rows := make([]pageDefect, len(table))
	for i, d := range table {
		rows[i] = pageDefect{d.Title, "`" + strings.Join(d.FoundBy, "`, `") + "`"}
	}
	return rows
}
