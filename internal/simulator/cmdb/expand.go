package cmdb

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var rangePattern = regexp.MustCompile(`\[(\d+)-(\d+)\]`)

// mostNames is far beyond any topology. It prevents a typing error from using up the memory.
const mostNames = 1_000_000

// expand returns all names of a name with ranges. Leading zeros of a number stay.
func expand(name string) ([]string, error) {
	at := rangePattern.FindStringSubmatchIndex(name)
	if at == nil {
		return []string{name}, nil
	}
	from, err := strconv.Atoi(name[at[2]:at[3]])
	if err != nil {
		return nil, err
	}
	to, err := strconv.Atoi(name[at[4]:at[5]])
	if err != nil {
		return nil, err
	}
	if to < from || to-from >= mostNames {
		return nil, fmt.Errorf("%q: the range is empty or too long", name)
	}
	rest, err := expand(name[at[1]:])
	if err != nil {
		return nil, err
	}
	if (to-from+1)*len(rest) > mostNames {
		return nil, fmt.Errorf("%q: the ranges are too long", name)
	}
	var names []string
	for n := from; n <= to; n++ {
		for _, end := range rest {
			names = append(names, fmt.Sprintf("%s%0*d%s", name[:at[0]], at[3]-at[2], n, end))
		}
	}
	return names, nil
}

// with adds fields to a row and returns it.
func with(r row, fields map[string]any) row {
	maps.Copy(r, plain(fields).(map[string]any)) //nolint:forcetypeassert // a map stays one
	return r
}

// plain converts numbers of any type to int64 or float64.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		n, _ := v.Float64()
		return n
	case int:
		return int64(v)
	case float64:
		if v == math.Trunc(v) {
			return int64(v)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = plain(member)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, element := range v {
			out = append(out, plain(element))
		}
		return out
	case []map[string]any:
		out := make([]any, 0, len(v))
		for _, element := range v {
			out = append(out, plain(element))
		}
		return out
	}
	return v
}

// first returns the first of addresses that are joined by commas.
func first(addresses string) string {
	one, _, _ := strings.Cut(addresses, ",")
	return strings.TrimSpace(one)
}
