// Package fleet holds what is true of any process on many hosts, whichever API reaches them. It
// knows how a host is addressed, and what happened to each host in a call. It rolls out changes in
// waves, compares a declared process with what the platform says, and repairs the difference.
//
// It knows neither Terraform nor HTTP. The clients (packages gse and job) implement Process. The
// provider turns Results and Drift into state and diagnostics.
//
// # Reading it
//
//   - Which hosts: host.go (addresses), inventory.go and keys.go (hosts with the user's keys), expand.go
//     (ranges).
//   - What a platform does and says: process.go (calls and statuses), outcome.go (what became of a host).
//   - What a refresh compares: drift.go, with fingerprint.go.
//   - How hosts go one after the other: rollout.go and waves.go (waves, and the time of their steps), gate.go
//     (health between waves), progress.go, order.go (several processes by priority).
//   - What is done in a wave: visit.go and register.go for hosts that are to be as declared, with
//     reconcile.go around them; release.go and idle.go for hosts that leave; operate.go for an operation that
//     somebody asked for; runs.go for the one that a changed declaration runs; resume.go for what an
//     earlier run has sent.
package fleet
