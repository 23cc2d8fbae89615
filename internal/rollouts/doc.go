// Package rollouts tests what waves are for: that a bad release reaches the first hosts and
// no more. Releases that fail at once, late, or again and again meet fleets of hundreds of
// virtual hosts, in the provider's own protocol. Only pauses and gates take time, on a clock
// that the tests turn.
package rollouts
