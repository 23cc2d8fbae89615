// Package pipelines holds the tests of examples/pipelines: the scripts are run, and the
// policies asked, about real plans against the simulator. What no test can show is that a
// BK-CI, a GitLab or an Atlantis takes the YAML files as they are meant: these are parsed,
// their keys compared with the documented ones, and the scripts that they name looked for.
//
// OPA is built from tools/policy.
package pipelines
