package providertest

// PartialCases are how many of how many hosts fail.
var PartialCases = map[string]struct{ Hosts, Failing int }{
	"one-of-5":   {Hosts: 5, Failing: 1},
	"499-of-500": {Hosts: 500, Failing: 499},
}

// Failing are the numbers of the hosts that fail: the last ones.
func Failing(hosts, n int) []int { return HostNumbers(hosts)[hosts-n:] }
