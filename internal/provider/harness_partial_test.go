package provider

// partialCases are how many of how many hosts fail.
var partialCases = map[string]struct{ hosts, failing int }{
	"one-of-5":   {hosts: 5, failing: 1},
	"499-of-500": {hosts: 500, failing: 499},
}

// failing are the numbers of the hosts that fail: the last ones.
func failing(hosts, n int) []int { return hostNumbers(hosts)[hosts-n:] }
