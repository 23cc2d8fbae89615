// Package hostfunction holds the provider's functions, which build, parse and expand host
// addresses, select names by expressions and tell the waves of a rollout. They make no calls, and do not know the
// settings of the provider block.
package hostfunction
