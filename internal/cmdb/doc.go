// Package cmdb asks BlueKing's CMDB which hosts there are, after its public code
// (TencentBlueKing/bk-cmdb 3.14) and its API documents.
//
// A [Scope] is what somebody wants, and [Client.Select] the hosts that it means. Below
// it are the APIs, which take ids.
//
// # Never too few, never too many
//
// What is missing from an answer here is a machine that a plan will unregister, so each
// listing is held against what it says of itself. All pages have to be there, as full as
// the count says, with the same count on each and no row twice; an order by id is asked
// for, so that pages stay where they are while others are read. A listing that moved
// meanwhile is read anew, a few times. And as CMDB ignores the members of a request that
// it does not know, a misspelt filter, or one that an older release lacks, returns the
// whole business: every row is held against what was asked for.
//
// # Faces
//
// Through the ESB everything is in the body, behind api/c/compapi/v2/cc/<name>/.
// The API gateway has CMDB's own paths, in which ids stand. Supplier account 0 is the
// only one that either has.
package cmdb
