// Package cmdb asks BlueKing's CMDB which hosts there are, after its public code
// (TencentBlueKing/bk-cmdb 3.14) and its API documents.
//
// A [Scope] is what somebody wants, and [Client.Select] the hosts that it means. Below
// it are the APIs, which take ids.
//
// # Never too few, never too many
//
// A plan unregisters a machine that is missing from an answer here, so each listing is checked
// against itself. All pages have to be there, as full as the count says, with the same count on
// each and no row twice. The request asks for an order by id, so that pages stay in place while
// others are read. Each page begins with the last row of the page before, which shows whether they did. A
// listing that moved meanwhile is read again, a few times. More modules than one request
// may name take several, which are all made again until two readings are alike. CMDB ignores members
// of a request that it does not know. A misspelt filter, or one that an older release lacks,
// returns the whole business. So every row is checked against the request.
//
// # Faces
//
// Through the ESB everything is in the body, behind api/c/compapi/v2/cc/<name>/.
// The API gateway has CMDB's own paths, in which ids stand. Supplier account 0 is the
// only one that either has.
package cmdb
