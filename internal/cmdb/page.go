package cmdb

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	json "github.com/go-json-experiment/json/v1"
	"golang.org/x/sync/errgroup"
)

// readings is how often a list that keeps changing is read before that is an error.
const readings = 3

// maxRows is the largest count that is accepted. No business comes near it, and a wrong count must not
// cause a million requests.
const maxRows = 1_000_000

// listing describes how to read all pages of an API. T is the type of a row, K of its id.
type listing[T any, K comparable] struct {
	endpoint endpoint
	params   params
	// limit is the largest documented page size. sort is the field to sort by, which must be unique: rows
	// with equal values change their order from page to page.
	limit int
	sort  string
	id    func(T) K
	// partial describes what a row lacks because it moved while CMDB read it, and returns "" for a whole row. It is
	// nil if CMDB reads rows in one piece.
	partial func(T) string
}

// rows is a page: {"count": n, "info": […]}, or the array alone.
type rows[T any] struct {
	Count *int
	Info  []T
}

func (r *rows[T]) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		return json.Unmarshal(raw, &r.Info)
	}
	var wire struct {
		Count *int `json:"count"`
		Info  []T  `json:"info"`
	}
	err := json.Unmarshal(raw, &wire)
	r.Count, r.Info = wire.Count, wire.Info
	return err
}

// ListError reports that the pages of a list are not consistent: rows are missing, too many, or repeated.
type ListError struct {
	API   string
	Start int // of the page
	Why   string
}

func (e *ListError) Error() string {
	return fmt.Sprintf("the page of %s from row %d on %s", e.API, e.Start, e.Why)
}

// read returns all rows in order. It reads the first page, and then the others in parallel.
func (l listing[T, K]) read(ctx context.Context, c *Client) ([]T, error) {
	for reading := 1; ; reading++ {
		all, err := l.readOnce(ctx, c)
		var moved *ListError
		if reading == readings || !errors.As(err, &moved) {
			return all, err
		}
	}
}

func (l listing[T, K]) readOnce(ctx context.Context, c *Client) ([]T, error) {
	first, err := l.page(ctx, c, 0)
	if err != nil {
		return nil, err
	}
	if first.Count == nil {
		return nil, l.fault(0, "does not say how many rows there are")
	}
	count := *first.Count
	if err := l.check(first, 0, count); err != nil {
		return nil, err
	}
	pages := [][]T{first.Info}
	// After a full page there is another one, even if the count says that it was the last: a count of the page's own
	// rows would say so, too.
	for last := l.limit; last <= count; last += l.limit - 1 {
		pages = append(pages, nil)
	}
	others, ctx := errgroup.WithContext(ctx)
	for i := 1; i < len(pages); i++ {
		others.Go(func() error {
			page, err := l.page(ctx, c, l.start(i))
			if err != nil {
				return err
			}
			pages[i] = page.Info
			return l.check(page, l.start(i), count)
		})
	}
	if err := others.Wait(); err != nil {
		return nil, err
	}
	return l.joined(pages, count)
}

// inChunks reads the rows of each chunk of ids, all in parallel.
func inChunks[T any](chunks [][]int64, read func([]int64) ([]T, error)) ([]T, error) {
	var (
		answers  = make([][]T, len(chunks))
		requests errgroup.Group
	)
	for i, chunk := range chunks {
		requests.Go(func() (err error) {
			answers[i], err = read(chunk)
			return err
		})
	}
	if err := requests.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(answers...), nil
}

// steady repeats a reading that takes several requests until two in a row are equal. A host that meanwhile
// moves from the modules of one request to those of another may be in neither answer.
func steady[T any](api string, requests int, read func() ([]T, error)) ([]T, error) {
	all, err := read()
	for again := 1; requests > 1 && err == nil; again++ {
		before := all
		if all, err = read(); err == nil && reflect.DeepEqual(before, all) {
			break
		}
		if err == nil && again == readings {
			return nil, &ListError{API: api, Why: fmt.Sprintf("differs from one reading of its %d requests to the next: hosts move while they are read", requests)}
		}
	}
	return all, err
}

// settled repeats a reading until where, which it depends on, is the same before and after. A host that
// meanwhile moves to a module that was not requested may be in no answer, and one that joins or leaves may be in
// some answers and lack in others.
func settled[W, T any](api string, where func() (W, error), read func(W) (T, error)) (T, error) {
	var none T
	before, err := where()
	if err != nil {
		return none, err
	}
	for range readings {
		all, err := read(before)
		if err != nil && !mayHaveMoved(err) {
			return none, err
		}
		after, failed := where()
		switch {
		case failed != nil:
			return none, cmp.Or(err, failed)
		case reflect.DeepEqual(before, after):
			return all, err
		}
		before = after
	}
	return none, &ListError{API: api, Why: fmt.Sprintf("may lack rows: the modules or hosts of the scope changed each of the %d times that it was read", readings)}
}

// mayHaveMoved reports whether an error may be due to a host that joins or leaves while several lists are read.
func mayHaveMoved(err error) bool {
	return errors.As(err, new(*ListError)) || errors.As(err, new(*UnknownError))
}

func (l listing[T, K]) page(ctx context.Context, c *Client, start int) (rows[T], error) {
	var page rows[T]
	request := l.params.with(params{"page": params{"start": start, "limit": l.limit, "sort": l.sort}})
	err := c.call(ctx, l.endpoint, request, &page)
	return page, err
}

// check compares a page with the count of the first page.
func (l listing[T, K]) check(page rows[T], start, count int) error {
	want := min(l.limit, count-start)
	switch {
	case page.Count == nil || *page.Count != count:
		return l.fault(start, "does not count as many rows as the first: the list changed while it was read")
	case count > maxRows:
		return l.fault(start, fmt.Sprintf("counts %d rows; more than %d are not read", count, maxRows))
	case count < 0 || len(page.Info) > want:
		return l.fault(start, fmt.Sprintf("has %d rows where there are %d", len(page.Info), want))
	case len(page.Info) < want:
		return l.fault(start, fmt.Sprintf("has only %d of %d rows", len(page.Info), want))
	}
	return nil
}

func (l listing[T, K]) joined(pages [][]T, count int) ([]T, error) {
	all := make([]T, 0, count)
	seen := make(map[K]bool, count)
	for i, page := range pages {
		if i > 0 {
			if last := l.id(all[len(all)-1]); l.id(page[0]) != last {
				return nil, l.fault(l.start(i), fmt.Sprintf("does not begin with row %v, the last one before it: the list changed while it was read", last))
			}
			page = page[1:]
		}
		for _, row := range page {
			id := l.id(row)
			if seen[id] {
				return nil, l.fault(l.start(i), fmt.Sprintf("repeats row %v", id))
			}
			if l.partial != nil {
				if what := l.partial(row); what != "" {
					return nil, l.fault(l.start(i), "has "+what)
				}
			}
			seen[id] = true
			all = append(all, row)
		}
	}
	return all, nil
}

// start returns the row at which a page begins: the last one of the page before. If one row is removed and
// another added while pages are read, the count stays the same, but the rows between the two have moved.
func (l listing[T, K]) start(page int) int { return page * (l.limit - 1) }

func (l listing[T, K]) fault(start int, why string) error {
	return &ListError{API: l.endpoint.name, Start: start, Why: why}
}
