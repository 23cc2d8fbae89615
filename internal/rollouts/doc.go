// Package rollouts tests that waves stop a bad release at the first hosts. It rolls out releases that fail
// at once, late, or repeatedly over fleets of hundreds of virtual hosts, in the provider's own protocol. Only
// pauses and gates take time, on a clock that the tests control.
package rollouts
