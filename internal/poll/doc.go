// Package poll waits for work that goes on elsewhere.
//
// BlueKing answers a process operation with a task id only, so the outcome has to be asked for
// repeatedly. [Until] is the one loop that does so. It asks at once, then after growing delays. It
// ends for one of four reasons only: the check says it is done, the check fails, the context is
// cancelled, or its deadline passes.
//
// The loop knows nothing of tasks or hosts. What counts as pending, and which
// errors are worth another look, is the check's to say; how long to wait in all
// is the context's. There is no second time limit in here, so a wait never ends
// for a reason that the user has not set.
//
// # Why delays grow by a tenth
//
// Polling finds out late: an operation that ends just after a check is noticed
// at the next one. With a first delay of 0.2 s and a factor of 1.1, the delay is
// always 0.2 s plus a tenth of the time already waited, because
//
//	0.2 × 1.1ⁿ = 0.2 + 0.1 × (0.2 × (1.1⁰ + … + 1.1ⁿ⁻¹))
//
// so waiting costs at most 10 % of the operation plus 0.2 s, and never more than
// the 5 s cap. A factor of 1.5 would cost up to 50 %.
package poll
