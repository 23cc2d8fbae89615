// Package upgrades holds the tests of what a release promises to the configurations and the
// states of the releases before it: docs/guides/upgrades.md.
//
// testdata has the schema as it is promised (schema.json), and for each release a directory
// with configurations, the states that the release wrote for them, and what was registered
// on the platform. `make keep VERSION=0.1.0` writes both for the first release, and adds to
// them for those after it. Nothing that a release has written is ever changed.
// As long as CHANGELOG.md has no heading for a version there is nothing to keep, and what the
// next release would write is written and read in one test.
package upgrades
