package providertest

// PartialCases are failures on some hosts: the number of all hosts, and of those that fail.
var PartialCases = map[string]struct{ Hosts, Failing int }{
	"one-of-5":   {Hosts: 5, Failing: 1},
	"499-of-500": {Hosts: 500, Failing: 499},
}

// Failing returns the numbers of the hosts that fail, the last n of hosts.
func Failing(hosts, n int) []int { return HostNumbers(hosts)[hosts-n:] }
