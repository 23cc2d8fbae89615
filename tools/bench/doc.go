// Command bench measures what the provider adds to the time that Terraform itself needs for thousands of
// hosts.
//
// Each step (create, a no-op plan, a plan with one host added, its apply, destroy) is run by a real CLI
// in pairs. One run has the provider and the simulator. The other has the floor, a provider with the same
// schema that returns what it was given. The ratio of their wall times can be compared between machines;
// a wall time alone cannot.
//
// The process that the CLI starts as the provider is this program again. It starts the real one, or the
// floor, and afterwards reports its peak memory.
package main
