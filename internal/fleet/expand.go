package fleet

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// MaxExpanded is how many addresses a range may have. One digit too many would make a plan that nobody can
// read.
const MaxExpanded = 65536

// RangeForms describes ranges to users. Error messages end with it.
const RangeForms = "a range is an IPv4 address in which brackets hold numbers and spans of numbers, such as `10.0.0.[1-20]` or `10.0.[0-3].[1,5,7-9]`"

// ExpandIPs returns the addresses of a range in the order in which it names them: the last bracket counts
// fastest.
func ExpandIPs(pattern string) ([]netip.Addr, error) {
	texts, numbers, err := splitRange(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q is not a range: %w; %s", pattern, err, RangeForms)
	}
	addresses := texts[:1]
	for i, list := range numbers {
		if len(addresses)*len(list) > MaxExpanded {
			return nil, fmt.Errorf("%q stands for more than %d addresses; split it", pattern, MaxExpanded)
		}
		var longer []string
		for _, begin := range addresses {
			for _, n := range list {
				longer = append(longer, begin+strconv.Itoa(n)+texts[i+1])
			}
		}
		addresses = longer
	}
	ips := make([]netip.Addr, len(addresses))
	for i, address := range addresses {
		ip, err := netip.ParseAddr(address)
		if err != nil || !ip.Is4() {
			return nil, fmt.Errorf("%q is not a range: it names %q, which is not an IPv4 address; %s", pattern, address, RangeForms)
		}
		ips[i] = ip
	}
	return ips, nil
}

// splitRange returns the text around the brackets, and the numbers in each bracket.
func splitRange(pattern string) (texts []string, numbers [][]int, err error) {
	rest := pattern
	for {
		fixed, behind, found := strings.Cut(rest, "[")
		if strings.Contains(fixed, "]") {
			return nil, nil, fmt.Errorf("a ] without its [")
		}
		texts = append(texts, fixed)
		if !found {
			return texts, numbers, nil
		}
		inside, after, closed := strings.Cut(behind, "]")
		if !closed || strings.Contains(inside, "[") {
			return nil, nil, fmt.Errorf("a [ without its ]")
		}
		list, err := numbersOf(inside)
		if err != nil {
			return nil, nil, err
		}
		numbers = append(numbers, list)
		rest = after
	}
}

// numbersOf parses `1`, `1-20` and lists of them. It refuses a repeated number, which would name a host
// twice.
func numbersOf(inside string) ([]int, error) {
	var (
		list []int
		seen [256]bool
	)
	for part := range strings.SplitSeq(inside, ",") {
		firstText, lastText, span := strings.Cut(part, "-")
		first, err := octet(firstText)
		if err != nil {
			return nil, err
		}
		last := first
		if span {
			if last, err = octet(lastText); err != nil {
				return nil, err
			}
		}
		if last < first {
			return nil, fmt.Errorf("%q counts backwards", part)
		}
		for n := first; n <= last; n++ {
			if seen[n] {
				return nil, fmt.Errorf("[%s] names %d twice", inside, n)
			}
			seen[n] = true
			list = append(list, n)
		}
	}
	return list, nil
}

func octet(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%q is not a number from 0 to 255", text)
	}
	return int(n), nil
}
