// Package inventory holds the data sources bk_hosts and bk_cmdb_processes, which read hosts and processes
// from CMDB. They change nothing.
package inventory
