// Command bench measures what the provider adds to the time that Terraform itself
// needs for hosts by the thousand.
//
// Each step (create, a plan that finds nothing to do, a plan with one host added,
// its apply, destroy) is run by a real CLI in pairs: with the provider against the
// simulator, and with the floor, a provider that has the same schema and hands
// back what it was given. Wall time beside wall time, in one run, is a figure that
// another machine can be held against; a wall time alone is not.
//
// The process that the CLI starts as the provider is this program again. It starts
// the real one, or the floor, and tells afterwards how much memory it took at most.
package main
