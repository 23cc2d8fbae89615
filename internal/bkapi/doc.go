// Package bkapi makes the HTTP calls to every BlueKing API. It holds the address and the credentials,
// reads the answer, and decides when to try again.
//
// A [Client] has one method. [Client.Call] takes an [API], posts a JSON object to it and decodes the data
// of the answer into the caller's variable. The callers (packages gse and job) know the members of both.
// This package handles the status of an answer, its envelope, and every error on the way. It returns one
// type of error, [*Error].
//
// # Two gateways
//
// Through the ESB, credentials are members of the JSON body, next to the request's own. Through the API
// gateway they are a JSON object in the header X-Bkapi-Authorization. Both wrap an answer in an envelope,
// but differ in its form. The ESB answers HTTP 200 with "result": false, where the gateway has no result
// at all. One function, parseEnvelope, reads every form that real servers are known to send.
//
// # Repeated requests
//
// Every call is a POST, so the verb does not say what may be repeated. [API.Repeatable] does. It is set
// for queries and for requests that set a state. It is not set for operations, since a second restart
// does harm. All tries of one call have the same request id.
//
//	What happened               Repeatable  Otherwise  Why
//	no connection, none before  no          no         no server ever answered: the endpoint is wrong, or the way to it is blocked
//	no connection               yes         yes        nothing was sent
//	not the platform            no          no         the endpoint is wrong: a page, a redirect or another service's JSON, and no envelope before
//	server not trusted          no          no         its certificate, or its TLS, will be the same next time
//	429                         yes         yes        refused before anything was done; Retry-After is honoured
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
// "None before" and "no envelope before" count the calls of one client, which lives as long as one run of
// Terraform. A server that answered once may be down for a while. If it never answered, the endpoint is
// wrong, and nothing was passed on.
//
// "No connection" is reported only if it is certain. net/http reports each connection before it writes to
// it, and until then nothing was sent. A kept-alive connection that dies under a request counts as a lost
// answer. The exception is that net/http finds that no byte was written. It then takes another
// connection.
//
// A try has its own time limit, [Config.RequestTimeout], which includes reading the answer. Its end is
// not the end of the operation. After the last try, the caller gets the last error, with the number of
// tries and their total time.
//
// # Outcomes
//
// [IsTransient] says that the same call may be made again later. [IsOutcomeUnknown] says that it may not:
// the server may have acted, so read the live state first. [Reply.Resent] says the same of a call that
// succeeded in the end.
//
// # Secrets
//
// No error, and no line of the log at any level, has the application secret or the user's token. They are
// removed from everything that came from the server or from net/http, before anything is shortened. That
// covers each spelling in which a server may echo them. Answers are not logged. An error quotes one short
// line of an answer that cannot be read.
package bkapi
