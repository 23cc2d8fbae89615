// Package inventory holds the data source bk_hosts, which reads from CMDB which hosts there
// are. It changes nothing.
package inventory
