// Package upgrades holds the tests of what a release promises to the configurations and the
// states of the releases before it: docs/guides/upgrades.md.
//
// testdata has the schema as it is promised (schema.json), and for each release a directory
// with configurations, the states that the release wrote for them, and what was registered
// on the platform. `make keep VERSION=0.2.0` adds to both. Until CHANGELOG.md has a heading
// for a version it may also be written anew; from then on nothing of it is ever changed.
package upgrades
