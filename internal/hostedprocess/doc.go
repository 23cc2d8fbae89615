// Package hostedprocess holds the resources that keep a process registered on hosts:
// bk_hosted_process, and bk_job_hosted_process through JOB.
//
// Both have one life, hostedResource; what GSE alone has (labels, identity, import, a
// list) is in the gse_ files. What is not as declared stands in state as a code for each
// host, and update does that and no more. release lets hosts go, and only those whose
// registration is this object's.
package hostedprocess
