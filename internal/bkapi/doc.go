// Package bkapi makes the HTTP calls to all BlueKing APIs. It holds the address and the credentials, reads
// answers, and decides when to retry.
//
// A [Client] has one method for this. [Client.Call] takes an [API], posts a JSON object to it and decodes the
// data of the answer into the caller's variable. The callers (packages gse and job) know the members of both.
// This package handles the status of an answer, its envelope, and every error on the way. It returns errors of
// one type only, [*Error].
//
// # Two gateways
//
// For the ESB, credentials are members of the JSON body, next to those of the request. For the API gateway, they
// are a JSON object in the header X-Bkapi-Authorization. Both wrap an answer in an envelope, but in different
// forms. The ESB answers HTTP 200 with "result": false, where the gateway sends no result at all. One function,
// parseEnvelope, reads every form that real servers are known to send.
//
// # Repeated requests
//
// Every call is a POST, so the verb does not say what may be repeated. [API.Repeatable] does. It is set for
// queries and for requests that set a state, but not for operations, since a second restart does harm. All
// attempts of one call have the same request id.
//
//	What happened               Repeatable  Otherwise  Why
//	no connection, none before  no          no         no server ever answered: the endpoint is wrong, or access to it is blocked
//	no connection               yes         yes        nothing was sent
//	not the platform            no          no         the endpoint is wrong: it sent a page, a redirect or another service's JSON, and no envelope before
//	server not trusted          no          no         its certificate, or its TLS version, will be the same next time
//	429                         yes         yes        refused before anything was done; Retry-After is honoured
//	ESB code 1306429            yes         yes        the same, reported with HTTP 200
//	408 500 502 503 504         yes         no         a gateway cannot say whether the backend acted
//	ESB code 1306201 1306208    yes         no         the ESB's own 502 and 504, reported with HTTP 200
//	other status                no          no         the same request would get the same answer
//	redirect                    no          no         credentials are sent to the endpoint only
//	answer lost                 yes         no         the server may have acted before the connection broke
//	no answer in time           yes         no         the server may still be acting
//	half an answer              yes         no         the server has acted
//	not an envelope             once        no         the server may have acted; a login page stays a login page
//	envelope says no            no          no         it is a verdict, and only the caller knows what the code means
//	context ended               no          no         the user or the operation's deadline ended it
//	deadline before the wait    no          no         the wait could only end with the deadline
//
// "None before" and "no envelope before" refer to all calls of one client, which lives as long as one run of
// Terraform. A server that answered once may be down for a while. If it never answered, the endpoint is wrong, and
// nothing was passed on.
//
// "No connection" is reported only if it is certain. net/http reports each connection before it writes to it, and
// until then nothing was sent. If a kept-alive connection dies during a request, the answer counts as lost. The
// exception is a connection on which net/http finds that no byte was written. It then takes another one.
//
// Each attempt has its own time limit, [Config.RequestTimeout], which includes reading the answer. It does not end
// the operation. After the last attempt, the caller gets its error, with the number of attempts and their total
// time.
//
// # Outcomes
//
// [IsTransient] says that the same call may be made again later. [IsOutcomeUnknown] says that it must not, because
// the server may have acted, so the live state has to be read first. [Reply.Resent] says the same of a call that
// succeeded in the end.
//
// # Secrets
//
// No error, and no log line at any level, contains the application secret or the user's token. They are removed
// from everything that came from the server or from net/http, before anything is shortened. That covers each
// spelling in which a server may echo them. Answers are not logged. An error quotes one short line of an answer
// that cannot be read.
package bkapi
