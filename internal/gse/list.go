package gse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// pageLimit is the largest page of sync_proc_status, by its document.
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

// Row is one process on one host as sync_proc_status lists it.
type Row struct {
	Name   string
	Host   fleet.Host
	Status fleet.Status
	// Other is the other name of the host, its address or its agent id, the zero HostID
	// where the platform has told none.
	Other fleet.HostID
}

// UnplacedError says that a namespace has rows of which nobody knows the host. All
// others have been yielded by then.
type UnplacedError struct {
	Namespace string
	// Processes are the names in such rows, each once.
	Processes []string
	// Unreadable says that there are rows of which not even that is known.
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

// MayHavePrefix reports whether a process whose name begins so may have such a row.
func (e *UnplacedError) MayHavePrefix(prefix string) bool {
	return e.may(func(p string) bool { return strings.HasPrefix(p, prefix) })
}

// may takes a row without a name for one of any process.
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

// List yields every process of a namespace, page by page. Rows move between
// pages while others come and go, so a row that shows twice is yielded once; one
// that is skipped cannot be known. Pages that give fewer rows than they count are an
// error. supplier is the supplier id of rows without.
func (c *Client) List(ctx context.Context, namespace string, supplier int, yield func(Row) bool) error {
	type identity struct {
		namespace, name, ip, agent string
		cloud, supplier            int64
		placed                     bool
	}
	seen := make(map[identity]bool)
	unplaced := UnplacedError{Namespace: namespace}
	rows := 0
	for start := 0; ; start += pageLimit {
		page, err := c.page(ctx, c.face.endpoint(apiSync, true), namespace, start)
		if err != nil {
			return fmt.Errorf("listing namespace %q from row %d: %w", namespace, start, err)
		}
		fresh := false
		unplaced.Unreadable = unplaced.Unreadable || page.ProcInfos.unreadable
		rows += len(page.ProcInfos.rows)
		for _, info := range page.ProcInfos.rows {
			c.names(info)
			host, ok := c.face.place(info, supplier)
			id := identity{
				namespace: string(info.Meta.Namespace), name: string(info.Meta.Name),
				ip: string(info.Host.IP), agent: info.agentID(), cloud: info.Host.CloudID.Int(), supplier: info.Host.SupplierID.Int(), placed: ok,
			}
			if seen[id] {
				continue
			}
			seen[id], fresh = true, true
			switch {
			case id.namespace == "" || ok && id.name == "":
				unplaced.Unreadable = true // it may be of any process
				continue
			case id.namespace != namespace:
				continue
			case !ok:
				unplaced.Processes = append(unplaced.Processes, id.name) // seen for the first time
				continue
			}
			other, _ := c.alias(host.WithoutSupplier())
			if !yield(Row{Name: id.name, Host: host, Status: c.statusOf(info), Other: other}) {
				return nil
			}
		}
		// A server that pays no heed to the page's start would go on for ever.
		count := page.Count.Value // 0 where it is not known
		if last := page.Count.Known && float64(start+pageLimit) >= count; fresh && !last {
			continue
		}
		if short := float64(rows) < count || !fresh && float64(start) < count; short && !unplaced.Unreadable {
			return fmt.Errorf("the pages of namespace %q have only %d of the %.0f rows that they count", namespace, len(seen), count)
		}
		return unplaced.orNil()
	}
}

// page asks for one page of a namespace.
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
