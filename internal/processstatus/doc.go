// Package processstatus holds the data sources bk_process_status and
// bk_job_process_status, which read what a process is doing on each of its hosts, and
// bk_registrations, which reads what is registered in a namespace. They change nothing.
package processstatus
