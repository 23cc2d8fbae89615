package cmdb

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// paging is the page size of an API: by its document, and by its code.
type paging struct {
	documented, most int
	tooLong          int // the code for a larger page, CodeParamInvalid if 0
	// optional: without a page, all rows are returned.
	optional bool
}

// noLimit is more rows than there can be.
const noLimit = 1 << 30

type page struct {
	start, limit int
	sort         string
}

func readPage(v any, allowed paging) (page, *refusal) {
	given, ok := v.(map[string]any)
	if v != nil && !ok {
		return page{}, notJSON("page is not an object")
	}
	if v == nil && allowed.optional {
		return page{limit: noLimit}, nil
	}
	var p page
	for name, into := range map[string]*int{"start": &p.start, "limit": &p.limit} {
		n, ok := given[name].(int64)
		if given[name] != nil && !ok {
			return page{}, notJSON("page." + name + " is not an integer")
		}
		*into = int(n)
	}
	if p.sort, ok = given["sort"].(string); given["sort"] != nil && !ok {
		return page{}, notJSON("page.sort is not a text")
	}
	switch {
	case p.start < 0:
		return page{}, invalid("page.start")
	case p.limit <= 0:
		return page{}, invalid("page.limit")
	case p.limit > allowed.most && allowed.tooLong == CodePageTooLong:
		return page{}, &refusal{code: CodePageTooLong, message: fmt.Sprintf("page limit is exceeded. suggestion %d", allowed.documented)}
	case p.limit > allowed.most:
		return page{}, invalid("page.limit")
	}
	return p, nil
}

// list returns a page of rows. natural is the API's own order, and unique a field with a different value
// in each row.
func (q *question) list(rows []row, unique string, natural string) row {
	rows = q.sorted(rows, unique, natural)
	count := len(rows) + q.bent.Count
	start, end := q.page.start, q.page.start+q.page.limit
	switch q.bent.Page {
	case "repeat":
		start, end = max(0, start-q.page.limit), max(q.page.limit, start)
	case "shrink":
		end = start + (q.page.limit+1)/2
	case "larger":
		end += q.page.limit
	case "empty":
		end = start
	}
	start, end = min(start, len(rows)), min(end, len(rows))
	return row{"count": count, "info": append([]row{}, rows[start:end]...)}
}

// sorted sorts rows by the requested fields, or in the natural order. Ties have another order each time.
func (q *question) sorted(rows []row, unique, natural string) []row {
	by := strings.Split(cmp.Or(q.page.sort, natural), ",")
	field := strings.TrimLeft(strings.TrimSpace(by[0]), "+-")
	rows = slices.Clone(rows)
	if field != unique || q.bent.Page == "shuffled" {
		random := rand.New(rand.NewPCG(q.seed, 0)) //nolint:gosec // an order is no secret
		random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	if q.bent.Page == "shuffled" {
		return rows
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		for _, name := range by {
			name = strings.TrimSpace(name)
			field, down := strings.CutPrefix(name, "-")
			field = strings.TrimPrefix(field, "+")
			order := compare(a[field], b[field])
			if down {
				order = -order
			}
			if order != 0 {
				return order
			}
		}
		return 0
	})
	return rows
}

// compare sorts null before numbers, and numbers before texts, as the database does.
func compare(a, b any) int {
	rank := func(v any) int {
		switch v.(type) {
		case nil:
			return 0
		case int64, float64:
			return 1
		case string:
			return 2
		}
		return 3
	}
	if order := cmp.Compare(rank(a), rank(b)); order != 0 {
		return order
	}
	if x, ok := number(a); ok {
		y, _ := number(b)
		return cmp.Compare(x, y)
	}
	x, _ := a.(string)
	y, _ := b.(string)
	return cmp.Compare(x, y)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func picked(rows []row, fields []string) []row {
	if fields == nil {
		return rows
	}
	out := make([]row, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.pick(fields))
	}
	return out
}
