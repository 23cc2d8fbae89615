package faultmatrix

import "slices"

// faultTable is the matrix, in the order of the page.
func faultTable() []fault {
	control := fault{name: "none", title: "Nothing (the control of this table)", pattern: patternControl}
	return append(slices.Concat(networkFaults(), statusFaults(), formFaults(), lateFaults(), hostFaults(), contentFaults(), keyFaults(), idleFaults(), outputFaults(), taskFaults(), ownerFaults(),
		ownershipFaults(), consoleFaults(), listFaults(), declaredFaults(), nameFaults(), selectorFaults()), control)
}
