// Package inventory holds the data sources bk_hosts and bk_cmdb_processes, which read from
// CMDB which hosts and processes there are. They change nothing.
package inventory
