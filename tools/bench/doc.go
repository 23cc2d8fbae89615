// Command bench measures what the provider adds to the time that Terraform itself needs for thousands of
// hosts.
//
// A real CLI runs each step (create, a no-op plan, a plan with one host added, its apply, destroy) in
// pairs: once with the provider and the simulator, and once with the floor, a provider with the same schema
// that returns what it was given. The ratio of their wall times can be compared between machines, which a
// wall time alone cannot.
//
// The CLI starts this program as the provider. It runs the real provider, or the floor, as a child process
// and afterwards reports the child's peak memory.
package main
