// Package cmdb is the part of BlueKing's CMDB that clients ask for hosts and processes. It has
// businesses with their sets, modules, hosts, service instances, processes, service templates and
// dynamic groups.
//
// A [Topology] declares them, in a few lines for many hosts. A [CMDB] is made from it, answers the APIs
// by name, and can change meanwhile. It does not know HTTP: package face has the endpoints.
//
// # Behaviour of the real CMDB
//
// After the public code of CMDB 3.14 (TencentBlueKing/bk-cmdb) and its API documents:
//
//   - It ignores what it does not know, so that a misspelt filter, or the process of
//     list_process_related_info, returns everything. The answer does not say so; the
//     [Answer] has a remark for the record.
//   - It takes more than its documents say on one page, up to 1000, and search_set takes
//     no page at all. That is a remark too.
//   - Addresses are texts with all of a host's in them, joined by commas; what nobody
//     filled in is null; process_instances of an instance without any is null.
//   - Where no unique field says in which order, rows that tie come in another order each
//     time: service instances and dynamic groups by default.
//   - Processes whose service instance lost its module have set and module 0.
//   - Built-in sets and modules are in no topology tree.
//
// An application that may not read a business gets [CodeNoPermission] and the permission to apply for.
// CMDB's own codes are those of src/common/errInfo.go.
package cmdb
