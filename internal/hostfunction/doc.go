// Package hostfunction implements the provider's functions, which build, parse and expand
// host addresses, select names by expressions and compute the waves of a rollout. They make
// no calls, and do not depend on the provider block.
package hostfunction
