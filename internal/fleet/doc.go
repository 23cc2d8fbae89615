// Package fleet holds what is true of any process on many hosts, whichever API
// reaches them: how a host is addressed, what became of each host in a call,
// how a change is rolled out in waves, how a declared process is compared with
// what the platform says, and how the difference is repaired.
//
// It knows neither Terraform nor HTTP. The clients (packages gse and job)
// implement Process; the provider turns Results and Drift into state and
// diagnostics.
package fleet
