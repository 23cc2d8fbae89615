package providertest

import (
	"path/filepath"
	"testing"
)

// ReadExample returns a file of examples/, whose path is given with slashes.
func ReadExample(t *testing.T, file string) string {
	t.Helper()
	return ReadFile(t, "..", "..", "examples", filepath.FromSlash(file))
}

// Examples that other tests use.
const (
	HostedExample    = "resources/bk_hosted_process/resource.tf"
	JobHostedExample = "resources/bk_job_hosted_process/resource.tf"
)
