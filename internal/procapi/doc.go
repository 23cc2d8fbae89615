// Package procapi is what the process APIs of BlueKing have in common, whichever
// server answers: the operations and their numbers, the codes and what each of
// them means for which call, the lenient reading of results, and the way from an
// operation over its task to an outcome per host.
//
// GSE's API (package gse) and JOB's (package job) end at the same agents. They
// differ in endpoints, in how requests name hosts and in the keys of results,
// and that is all that those packages have to say.
//
// # What is waited for
//
// A queued task (envelope code 1000115), a host that is missing from a result,
// a host in progress (115) and a passing transport error are all pending, until
// the one deadline of the caller's context. A host's first final verdict is
// kept, whatever later answers say.
//
// # What is sent again
//
// [Tasks.Submit] sends an operation once, and a wait that fails never sends it
// again. Whether the request path may repeat it after a lost answer is what
// [Repeatable] reports: a query, hosting and unhosting yes, a command no.
package procapi
