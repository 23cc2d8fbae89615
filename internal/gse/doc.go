// Package gse speaks the process API of BlueKing GSE: which endpoint does what on which face of the
// platform, and how hosts are written into requests and found in answers. What it shares with JOB's
// API, above all waiting, is in package procapi.
//
// Faces differ in paths, in how a host is named and in the keys of result maps.
// A key is always built for a host and looked up, never taken apart: an IPv6
// address, a namespace or a name may hold the separator.
//
// # What is repeated
//
// Registration (register, update, unregister, hosting and unhosting) and queries can be repeated
// without harm, and are. Start, stop, restart, reload and kill are sent once. A lost answer is
// reported as such (fleet.Lost), and a wait that fails never sends the operation again.
//
// Sources: the ESB API documents of the endpoints named in each file, and what
// is known of the platform from its public clients. GSE itself is not public.
package gse
