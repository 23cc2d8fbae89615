// Package pipelines holds the tests of examples/pipelines. They run the scripts and the policies on
// real plans against the simulator. No test runs the YAML files in BK-CI, GitLab or Atlantis. The
// files are parsed, their keys are compared with the documented ones, and the scripts that they
// name must exist.
//
// OPA is built from tools/policy.
package pipelines
