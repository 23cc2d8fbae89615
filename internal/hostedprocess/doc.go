// Package hostedprocess implements the resources that keep a process registered on hosts:
// bk_hosted_process, and bk_job_hosted_process, which goes through JOB.
//
// # Reading order
//
// Both resources share one life cycle, hostedResource in resource.go: Create, Update and Delete open a
// model, change hosts, and save the result. What only GSE has (labels, identity, import, list) is in the
// gse_ files. For a single host, the files answer these questions, in this order:
//
//   - What is known of it? ledger.go records what this object did there, in private state. The codes in
//     out_of_sync and unreachable ([fleet.Code]) say what is left to do there, and why.
//   - What does an apply do there? stepOn in decide.go: register, register anew, only host or start, or
//     nothing. Plan and apply both ask it. effect.go puts the answer in words, for rollout_plan and warnings.
//   - How is it done? update.go turns the steps into a [fleet.Change], which package fleet carries out in
//     waves: ask, rename, register, operate, bring up, look (visit.go there). operate.go decides whether the
//     operation of on_update is due, and rollback.go restores the previous declaration.
//   - May it be unregistered? observe.go asks the agent and reads the cached status, and the table in
//     package ownership decides from both. release.go unregisters the hosts that this object owns, after a
//     stop if on_destroy asks for one and the host is not spared. left.go has the warnings about hosts that left state
//     in another way, as far as state did not say so already.
//   - What does a refresh find? read.go compares hosts with what was last registered ([fleet.Inspect]), and
//     refreshed in decide.go merges the result with what state said before.
//   - What do other objects of this run do there? moves.go handles a host that moves between two objects,
//     and names.go a machine that gets another name.
package hostedprocess
