// Package fleet implements what is common to processes on many hosts, whichever API reaches them. It defines
// how a host is addressed and what a call did on each host. It rolls out changes in waves, compares a declared
// process with what the platform reports, and repairs the differences.
//
// It knows neither Terraform nor HTTP. The clients (packages gse and job) implement [Process]. The provider
// turns [Results] and drift into state and diagnostics.
//
// # Where to start reading
//
//   - Hosts: host.go (addresses), inventory.go and keys.go (hosts by the user's keys), expand.go (ranges).
//   - The platform: process.go (calls and statuses), outcome.go (the result of a call on each host).
//   - Refresh: drift.go, with fingerprint.go.
//   - Rollouts: rollout.go and waves.go (waves), steps.go (how the steps of a wave share the time), gate.go
//     (health between waves), progress.go, order.go (several processes, by priority).
//   - Changes: reconcile.go brings hosts to the declared state. Its waves are in visit.go and register.go, the
//     operation that a changed declaration runs in runs.go, and what an earlier run has sent in resume.go.
//     release.go and idle.go unregister the hosts that leave. operate.go runs an operation that was asked for.
package fleet
