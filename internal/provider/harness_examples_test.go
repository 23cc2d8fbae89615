package provider

import (
	"os"
	"path/filepath"
	"testing"
)

func readExample(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What other examples refer to.
const (
	hostedExample    = "resources/bk_hosted_process/resource.tf"
	jobHostedExample = "resources/bk_job_hosted_process/resource.tf"
)
