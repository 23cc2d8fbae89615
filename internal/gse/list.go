package gse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// pageLimit is the largest page of sync_proc_status, according to its document.
const pageLimit = 1000

// syncRequest is the body of sync_proc_status.
type syncRequest struct {
	Meta struct {
		Namespace string `json:"namespace"`
	} `json:"meta"`
	Page struct {
		Start int `json:"start"`
		Limit int `json:"limit"`
	} `json:"page"`
}

// Row is one registered process on one host, as listed by sync_proc_status.
type Row struct {
	Name   string
	Host   fleet.Host
	Status fleet.Status
	// Earlier holds the same host with other supplier ids, under which it was registered before.
	Earlier []fleet.Host
	// Other is the other name of the host, which is its address or its agent id. It is the zero HostID if the
	// platform has not given one.
	Other fleet.HostID
}

// merge merges two rows of one process on one host. The later registration counts.
func (r Row) merge(next Row) Row {
	first, last := r, next
	if !succeeds(next.Status, r.Status) {
		first, last = next, r
	}
	for _, host := range append(first.Earlier, first.Host) {
		if host != last.Host && !slices.Contains(last.Earlier, host) {
			last.Earlier = append(last.Earlier, host)
		}
	}
	last.Status = later(first.Status, last.Status)
	return last
}

// UnplacedError says that a namespace has rows whose host is unknown. All other rows are returned with it.
type UnplacedError struct {
	Namespace string
	// Processes holds the names of the processes in such rows, without duplicates.
	Processes []string
	// Unreadable says that some rows do not even have the name of a process.
	Unreadable bool
}

func (e *UnplacedError) Error() string {
	text := fmt.Sprintf("namespace %q has rows that could not be read", e.Namespace)
	if len(e.Processes) > 0 {
		text = fmt.Sprintf("namespace %q has rows that name no host, of %q", e.Namespace, e.Processes)
		if e.Unreadable {
			text += ", and others that could not be read"
		}
	}
	return text
}

// MayHave reports whether a process of this name may have such a row.
func (e *UnplacedError) MayHave(name string) bool {
	return e.may(func(p string) bool { return p == name })
}

// MayHavePrefix reports whether a process whose name has this prefix may have such a row.
func (e *UnplacedError) MayHavePrefix(prefix string) bool {
	return e.may(func(p string) bool { return strings.HasPrefix(p, prefix) })
}

// may treats a row without a name as a row of any process.
func (e *UnplacedError) may(is func(process string) bool) bool {
	return e.Unreadable || slices.ContainsFunc(e.Processes, func(p string) bool { return p == "" || is(p) })
}

func (e *UnplacedError) orNil() error {
	if len(e.Processes) == 0 && !e.Unreadable {
		return nil
	}
	slices.Sort(e.Processes)
	e.Processes = slices.Compact(e.Processes)
	return e
}

// readings is the number of times that a changing namespace is listed before List returns an error.
const readings = 3

// List returns every registered process of a namespace, each host once. supplier is the supplier id of rows
// without one.
//
// A platform may keep the row of a process that was unregistered. Of two rows of one host, the later
// registration counts. A host may have a registration for each of its supplier ids, and the latest of those
// counts.
//
// Rows move between pages while others are added or removed. A row on two pages, or a count that changes, means
// that another row may be missing. Then List starts again, and returns an error after the last attempt. Pages
// with fewer rows than their count are an error too. List cannot notice that one row was added and another
// removed between two pages.
func (c *Client) List(ctx context.Context, namespace string, supplier int) ([]Row, error) {
	l := lister{client: c, namespace: namespace, supplier: supplier}
	err := l.list(ctx)
	if unplaced := (*UnplacedError)(nil); err != nil && !errors.As(err, &unplaced) {
		return nil, err
	}
	rows := merged(l.rows, func(row Row) entryOn { return entryOn{row.Name, row.Host} })
	rows = slices.DeleteFunc(rows, func(row Row) bool { return row.Status.State == fleet.Unregistered })
	rows = merged(rows, func(row Row) processOn { return processOn{row.Name, row.Host.WithoutSupplier()} })
	for i, row := range rows {
		rows[i].Other, _ = c.alias(row.Host.WithoutSupplier()) // a later row may have shown it
	}
	return rows, err
}

// entryOn identifies a registration. Each supplier id of a host has its own.
type entryOn struct {
	process string
	host    fleet.Host
}

// merged returns rows after merging those for which of returns the same key.
func merged[K comparable](rows []Row, of func(Row) K) []Row {
	at, kept := make(map[K]int), make([]Row, 0, len(rows))
	for _, row := range rows {
		if i, twice := at[of(row)]; twice {
			kept[i] = kept[i].merge(row)
			continue
		}
		at[of(row)] = len(kept)
		kept = append(kept, row)
	}
	return kept
}

type rowID struct {
	namespace, name, ip, agent string
	cloud, supplier            int64
	placed                     bool
}

// entryID identifies one entry of a machine. The platform may have an entry for each of the machine's names.
type entryID struct {
	rowID

	registered int64
}

type lister struct {
	client    *Client
	namespace string
	supplier  int

	rows     []Row
	unplaced UnplacedError
}

func (l *lister) list(ctx context.Context) error {
	var before []entryID
	for left := readings - 1; ; left-- {
		l.rows, l.unplaced = nil, UnplacedError{Namespace: l.namespace}
		r, err := l.read(ctx)
		if err != nil {
			return err
		}
		same := left < readings-1 && slices.Equal(r.ids, before) // no row has moved between two listings
		if left > 0 && !same && !l.unplaced.Unreadable && (r.moved || r.short()) {
			before = r.ids
			continue
		}
		switch {
		case l.unplaced.Unreadable:
		case r.moved && !same:
			return fmt.Errorf("namespace %q changed each of the %d times that it was listed, so that rows may be missing", l.namespace, readings)
		case r.short():
			return fmt.Errorf("the pages of namespace %q have only %d of the %.0f rows that they count", l.namespace, r.rows, r.count)
		}
		return l.unplaced.orNil()
	}
}

// reading is the result of listing a namespace once, from the first page to the last.
type reading struct {
	ids     []entryID
	rows    int     // without those that earlier pages had
	count   float64 // according to the last page that has rows and a count, 0 if there is none
	moved   bool    // a row was on two pages, or the count changed
	starved bool    // a page that should have had more rows had no new ones
}

func (r *reading) short() bool { return float64(r.rows) < r.count || r.starved }

func (l *lister) read(ctx context.Context) (reading, error) {
	var (
		r      reading
		pageOf = make(map[entryID]int)
	)
	for start := 0; ; start += pageLimit {
		answer, err := l.client.page(ctx, l.client.face.endpoint(apiSync, true), l.namespace, start)
		if err != nil {
			return r, fmt.Errorf("listing namespace %q from row %d: %w", l.namespace, start, err)
		}
		if start == 0 && !answer.isList() { // later pages may be null
			return r, fmt.Errorf("listing namespace %q: the answer has neither rows nor a count of them, so what is registered there is not known", l.namespace)
		}
		l.unplaced.Unreadable = l.unplaced.Unreadable || answer.ProcInfos.unreadable
		before := r.rows
		for _, info := range answer.ProcInfos.rows {
			id := entryID{l.add(info), int64(info.RegisterTime)}
			r.ids = append(r.ids, id)
			if on, stood := pageOf[id]; stood && on != start {
				r.moved = true
				continue
			}
			pageOf[id] = start
			r.rows++
		}
		fresh := r.rows > before
		// A page beyond the end may have no count, or one of 0.
		if answer.Count.Known && (start == 0 || len(answer.ProcInfos.rows) > 0) {
			r.moved = r.moved || start > 0 && answer.Count.Value != r.count
			r.count = answer.Count.Value
		}
		// A full page may not be the last, whatever its count is. Without the check for new rows, the loop
		// would not end if a server ignores the start of the page.
		last := answer.Count.Known && float64(start+pageLimit) >= r.count && len(answer.ProcInfos.rows) < pageLimit
		if fresh && !last {
			continue
		}
		r.starved = !fresh && float64(start) < r.count
		return r, nil
	}
}

// add keeps a row, or records that its host is unknown.
func (l *lister) add(info procRow) rowID {
	l.client.learnNames(info)
	host, placed := l.client.face.place(info, l.supplier)
	id := rowID{
		namespace: string(info.Meta.Namespace), name: string(info.Meta.Name),
		ip: string(info.Host.IP), agent: info.agentID(), cloud: info.Host.CloudID.Int(), supplier: info.Host.SupplierID.Int(), placed: placed,
	}
	switch {
	case id.namespace == "" || placed && id.name == "":
		l.unplaced.Unreadable = true // it may belong to any process
	case id.namespace != l.namespace:
	case !placed:
		l.unplaced.Processes = append(l.unplaced.Processes, id.name)
	default:
		other, _ := l.client.alias(host.WithoutSupplier())
		l.rows = append(l.rows, Row{Name: id.name, Host: host, Status: l.client.statusOf(info), Other: other})
	}
	return id
}

func (c *Client) page(ctx context.Context, api bkapi.API, namespace string, start int) (statusAnswer, error) {
	var (
		request syncRequest
		answer  statusAnswer
	)
	request.Meta.Namespace = namespace
	request.Page.Start, request.Page.Limit = start, pageLimit
	_, err := c.api.Call(ctx, api, request, &answer)
	return answer, err
}
