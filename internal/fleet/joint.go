package fleet

import "context"

// Part is what an operation on several processes asks of one of them.
type Part struct {
	Process Process
	Hosts   []Host
	Observe Observer
}

// Joint is a Process whose platform takes an operation on several processes in one call.
type Joint interface {
	Process
	// OperateJointly is Operate for several processes of that platform. The results are
	// those of the parts, in their order.
	OperateJointly(ctx context.Context, op Operation, parts []Part) []Results
}
