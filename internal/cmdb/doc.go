// Package cmdb reads hosts and processes from BlueKing's CMDB. It follows CMDB's public code
// (TencentBlueKing/bk-cmdb 3.14) and its API documents.
//
// A [Scope] selects hosts by names and expressions, and [Client.Select] returns those hosts. The methods
// below it each call one API, by ids.
//
// # Never too few, never too many
//
// A host that is missing from a result here is unregistered by the next plan, so each list is checked
// for consistency. Every page must be as full as the count says, with the same count on each and no row
// twice. Requests ask for an order by id, so that pages stay in place while others are read. Each page
// begins with the last row of the page before, which shows whether they did. A list that changed
// meanwhile is read again, a few times. If one request cannot name all modules, several are sent, and all
// are repeated until two readings are equal. CMDB ignores request fields that it does not know, so a
// misspelt filter, or one that an older release lacks, returns the whole business. So every row is
// checked against the request.
//
// # Faces
//
// Through the ESB, the path is api/c/compapi/v2/cc/<name>/ and all parameters are in the body. The API
// gateway has CMDB's own paths, which contain ids. Only supplier account 0 is supported.
package cmdb
