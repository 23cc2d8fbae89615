// Package upgrades holds the tests of what a release promises to the configurations and the
// states of the releases before it: docs/guides/upgrades.md.
//
// testdata has the promised schema (schema.json), and a directory for each release. It has
// configurations, the states that the release wrote for them, and the registrations on the platform.
// `make keep VERSION=0.1.0` writes both for the first release, and adds to them for later ones. Files of
// a release never change. As long as CHANGELOG.md has no heading for a version, there is nothing to keep.
// Then one test writes and reads what the next release would write.
package upgrades
