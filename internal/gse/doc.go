// Package gse speaks the process API of BlueKing GSE. It knows which endpoint does what on which face,
// and how hosts are written into requests and found in answers. Package procapi holds what gse shares
// with JOB's API, above all waiting.
//
// Faces differ in paths, in how a host is named and in the keys of result maps. The client builds the keys
// of a host and looks them up, because an IPv6 address, a namespace or a name may contain the separator. It
// reads a key only to learn the names of hosts (learnFrom).
//
// # Repeated requests
//
// Registration and queries can be repeated without harm, and are: register, update, unregister, host and
// unhost. Start, stop, restart, reload and kill are sent once. A lost answer is reported as fleet.Lost,
// and a failed wait never sends the operation again.
//
// Sources: the ESB API documents of the endpoints named in each file, and the platform's public clients.
// GSE itself is not public.
package gse
