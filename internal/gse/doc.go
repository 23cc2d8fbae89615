// Package gse is a client of the process API of BlueKing GSE. It knows which endpoint does what on each face of
// the platform, and how hosts are named in requests and in answers. Package procapi holds what gse shares with
// JOB's API, above all waiting.
//
// Faces differ in paths, in how a host is named and in the keys of result maps. The client builds the keys of a
// host and looks them up, because an IPv6 address, a namespace or a name may contain the separator. It parses a
// key only to learn the names of hosts (learnFrom).
//
// # Repeated requests
//
// Registrations and queries can be repeated safely, and are: register, update, unregister, host and unhost.
// Start, stop, restart, reload and kill are sent once. A lost answer is reported as fleet.Lost, and an
// operation is never sent again after a failed wait.
//
// Sources: the ESB API documents of the endpoints named in each file, and the platform's public clients. The
// code of GSE itself is not public.
package gse
