// Package hostfunction holds the provider's functions, which build, parse and expand host
// addresses and select names by expressions. They make no calls, and do not know the
// settings of the provider block.
package hostfunction
