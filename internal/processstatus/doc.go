// Package processstatus holds the data sources bk_process_status and
// bk_job_process_status, which read what a process is doing on each of its hosts. They
// change nothing.
package processstatus
