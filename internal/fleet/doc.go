// Package fleet holds what is true of any process on many hosts, whichever API reaches them. It
// knows how a host is addressed, and what happened to each host in a call. It rolls out changes in
// waves, compares a declared process with what the platform says, and repairs the difference.
//
// It knows neither Terraform nor HTTP. The clients (packages gse and job) implement Process. The
// provider turns Results and Drift into state and diagnostics.
package fleet
