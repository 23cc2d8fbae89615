// Package hostfunction holds the provider's functions, which build, parse and expand host
// addresses. They make no calls, and do not know the settings of the provider block.
package hostfunction
