package procapi

import "github.com/blueking/terraform-provider-bk/internal/fleet"

// Query is the operation that reads the status. It is not among the operations that users can request.
const Query fleet.Operation = "query"

// opTypes holds the `op_type` of each operation in operate_proc_v2 and operate_process. 5 and 6 do not exist.
var opTypes = map[fleet.Operation]int{
	fleet.Start: 0, fleet.Stop: 1, Query: 2, fleet.Supervise: 3, fleet.Unsupervise: 4,
	fleet.Restart: 7, fleet.Reload: 8, fleet.Kill: 9,
}

// OpType returns the `op_type` of an operation. One that does not exist has a number that the platform refuses.
func OpType(op fleet.Operation) int {
	if number, exists := opTypes[op]; exists {
		return number
	}
	return -1
}

// Repeatable reports whether an operation can safely be sent twice.
func Repeatable(op fleet.Operation) bool {
	return op == Query || op == fleet.Supervise || op == fleet.Unsupervise
}
