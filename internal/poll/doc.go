// Package poll waits for operations of the platform.
//
// BlueKing answers a process operation with a task id only, so the client has to ask repeatedly for the
// outcome. [Until] is the only loop that does so. It asks at once, then after growing delays. It ends for
// one of four reasons: the check is done, the check fails, the context is cancelled, or its deadline
// passes.
//
// The loop does not know tasks or hosts. The check decides what counts as pending, and which errors are
// worth another check. The context decides how long to wait. There is no second time limit, so a wait
// never ends for a reason that the user has not set.
//
// # Why delays grow by a tenth
//
// Polling is late: an operation that ends just after a check is noticed at the next one. The first delay
// is 0.2 s and the factor 1.1. So the delay is always 0.2 s plus a tenth of the time already waited,
// because
//
//	0.2 × 1.1ⁿ = 0.2 + 0.1 × (0.2 × (1.1⁰ + … + 1.1ⁿ⁻¹))
//
// So polling costs at most 10 % of the operation plus 0.2 s, and never more than the 5 s limit. A factor
// of 1.5 would cost up to 50 %.
package poll
