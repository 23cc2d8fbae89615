// Package hostedprocess holds the resources that keep a process registered on hosts:
// bk_hosted_process, and bk_job_hosted_process through JOB.
//
// # Reading it
//
// Both have one life, hostedResource in resource.go: Create, Update and Delete open a model, change
// hosts, and save. What GSE alone has (labels, identity, import, a list) is in the gse_ files. For one
// host, the files answer these questions, in this order:
//
//   - What is known of it? ledger.go is what this object did there, kept in private state. The codes in
//     out_of_sync and unreachable ([fleet.Code]) are what is left to do there, and why.
//   - What does an apply do there? decide.go, stepOn: register, register anew, only host or start, or
//     nothing. Plan and apply both ask it. effect.go says it in words, for rollout_plan and its warnings.
//   - How is it done? update.go turns the steps into a [fleet.Change], and package fleet does it in
//     waves: ask, rename, register, operate, bring up, look (visit.go there). operate.go decides whether the
//     operation of on_update is due, and rollback.go gives the previous declaration back.
//   - May it be unregistered? observe.go asks the agent and reads the cached status, and the table in
//     package ownership decides from what they say. release.go unregisters what is this object's, after a stop
//     if on_destroy asks for it and the host is not spared. left.go says which hosts left state without that.
//   - What does a refresh find? read.go compares with what was last registered ([fleet.Inspect]), and
//     refreshed in decide.go merges that with what state said before.
//   - What do others of this run do there? moves.go, for a host that moves between two objects, and
//     names.go, for a machine that gets another name.
package hostedprocess
