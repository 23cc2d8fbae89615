// Package processstatus holds the data sources bk_process_status and bk_job_process_status, which read the
// status of a process on each of its hosts. It also holds bk_registrations, which reads the registrations in a
// namespace, and bk_hosted_specs, which reads what agents host. They change nothing.
package processstatus
