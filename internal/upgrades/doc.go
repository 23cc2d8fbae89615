// Package upgrades tests what a release promises for the configurations and the
// states of earlier releases: docs/guides/upgrades.md.
//
// testdata has the promised schema (schema.json) and a directory for each release, with
// configurations, the states that the release wrote for them, and the registrations on the platform.
// `make keep VERSION=0.1.0` writes both for the first release, and adds to them for later ones. Files of
// a release never change. Until CHANGELOG.md has a heading for a version, nothing is kept, and
// one test writes and reads what the next release would write.
package upgrades
