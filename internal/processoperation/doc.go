// Package processoperation holds the resources and actions that run an operation on a process:
// bk_process_operation, and bk_job_process_operation through JOB.
//
// A resource runs on every host when it is created, unless run_on_create is false. Later it runs on the hosts
// that a change requires: see change. State has a code for each host on which the last run failed.
package processoperation
