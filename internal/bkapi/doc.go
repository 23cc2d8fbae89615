// Package bkapi is the one way over HTTP to every BlueKing API. It knows where to send a request
// and as whom, reads the answer, and decides when to ask again.
//
// A [Client] has one method. [Client.Call] takes an [API], posts a JSON object to it and puts the
// data of the answer into the caller's variable. The callers know what the members of either mean
// (packages gse and job). This package handles the status of an answer, the envelope around it and
// all that can go wrong on the way. It returns one type of error, [*Error].
//
// # Two gateways
//
// Through the ESB, credentials are members of the JSON body, next to the request's own. Through the
// API gateway they are a JSON object in the header X-Bkapi-Authorization. Both wrap an answer in an
// envelope, and differ in that too. The ESB answers HTTP 200 with "result": false, where the
// gateway has no result at all. One function, parseEnvelope, reads every form that real servers are
// known to send.
//
// # What is repeated
//
// Every call is a POST, so the verb does not say what may be repeated. The API does.
// [API.Repeatable] is set for queries and for requests for a state. It is not set for requests that
// make something happen, since a second restart does harm. The request id stays the same for all
// tries of one call.
//
//	What happened               Repeatable  Otherwise  Why
//	no connection, none before  no          no         nobody was ever there: the endpoint is wrong, or the way to it is blocked
//	no connection               yes         yes        nothing was sent
//	not the platform            no          no         the endpoint is wrong: a page, a redirect or another service's JSON, and no envelope before
//	server not trusted          no          no         its certificate, or its TLS, will be the same next time
//	429                         yes         yes        turned away before anyone acted; Retry-After is honoured
//	ESB code 1306429            yes         yes        the same, said with HTTP 200
//	408 500 502 503 504         yes         no         a gateway cannot say whether the backend acted
//	ESB code 1306201 1306208    yes         no         the ESB's own 502 and 504, said with HTTP 200
//	other status                no          no         the same request would meet the same answer
//	redirect                    no          no         credentials are sent to the endpoint only
//	answer lost                 yes         no         the server may have acted before the connection broke
//	no answer in time           yes         no         the server may be acting now
//	half an answer              yes         no         the server has acted
//	not an envelope             once        no         the server may have acted; a login page stays a login page
//	envelope says no            no          no         it is a verdict, and what the code means is the caller's to know
//	context ended               no          no         the user or the operation's deadline said so
//	deadline before the wait    no          no         the wait could only end in the deadline
//
// "None before" and "no envelope before" count the calls of one client, which lives as long as one
// run of Terraform. A server that answered once may be away for a while. One that never answered is
// not there, and what is in its place has not passed anything on.
//
// "No connection" is said only if it is certain: net/http reports each connection before it writes
// to it, and until then nothing has left. A kept-alive connection that dies under a request counts
// as an answer lost. The exception is that net/http finds that no byte was written. It then takes
// another connection.
//
// A try has a time limit of its own, [Config.RequestTimeout], which includes the reading of the
// answer. It is never taken for the end of the operation. When the budget is spent, the caller gets
// the last error, with the number of tries and their time.
//
// # Outcomes
//
// [IsTransient] says that the same call may be made again later. [IsOutcomeUnknown]
// says that it may not: the server may have acted, and the live state has to be
// asked first. [Reply.Resent] is the same doubt about a call that went well in the
// end.
//
// # Secrets
//
// The application secret and the user's token are in no error and in no line of the log, at any
// level. They are removed from everything that came from the server or from net/http, in each
// spelling in which a server may echo them, before anything is shortened. Answers are not logged.
// An error quotes one short line of an answer that cannot be read.
package bkapi
