package providertest

import (
	"os"
	"path/filepath"
	"testing"
)

// ReadExample returns a file of examples/, whose path is given with slashes.
func ReadExample(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Examples that other tests use.
const (
	HostedExample    = "resources/bk_hosted_process/resource.tf"
	JobHostedExample = "resources/bk_job_hosted_process/resource.tf"
)
