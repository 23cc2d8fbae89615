// Package cmdb simulates the part of BlueKing's CMDB that clients query for hosts and processes. It has
// businesses with their sets, modules, hosts, service instances, processes, service templates and
// dynamic groups.
//
// A [Topology] declares them, many hosts in a few lines. A [CMDB] is made from it, answers the APIs by
// name, and can be changed at any time. It does not use HTTP: package face has the endpoints.
//
// # Behaviour of the real CMDB
//
// By the public code of CMDB 3.14 (TencentBlueKing/bk-cmdb) and its API documents:
//
//   - It ignores fields that it does not know, so that a misspelt filter, or the process of
//     list_process_related_info, returns everything. Its response does not show that; the
//     [Answer] has a remark for the record.
//   - It accepts larger pages than its documents say, up to 1000, and search_set accepts
//     requests without a page. That is a remark too.
//   - An address field has all of a host's addresses, separated by commas. Empty fields are
//     null, and so is process_instances of an instance without processes.
//   - Rows that are not sorted by a unique field may change their order each time, such as
//     service instances and dynamic groups by default.
//   - Processes whose service instance lost its module have set and module 0.
//   - Topology trees do not contain built-in sets and modules.
//
// An application that may not read a business gets [CodeNoPermission] and the permission to apply for.
// CMDB's own codes are those of src/common/errInfo.go.
package cmdb
