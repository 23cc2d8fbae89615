package cmdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Set is a set of a business and its modules.
type Set struct {
	ID      int64
	Name    string
	Modules []Module
}

// Module is a module of a set. It contains hosts.
type Module struct {
	ID   int64
	Name string
}

// node is a node of the topology tree. The root is a business, the leaves are modules, and a platform may
// have any levels in between.
type node struct {
	Object   string `json:"bk_obj_id"`
	ID       int64  `json:"bk_inst_id"`
	Name     string `json:"bk_inst_name"`
	Default  int    `json:"default"`
	Children []node `json:"child"`
}

func (n node) String() string {
	return fmt.Sprintf("%s %d (%s)", cmp.Or(n.Object, "node"), n.ID, n.Name)
}

// Topology returns the sets of a business, without the built-in ones (of idle, faulty and recycled hosts).
// A business that does not exist is an [UnknownError].
func (c *Client) Topology(ctx context.Context, biz int64) ([]Set, error) {
	var tree []node
	if err := c.call(ctx, searchTopology, params{"bk_biz_id": biz}, &tree); err != nil {
		return nil, c.orUnknown(ctx, biz, err)
	}
	var top *node
	for i, n := range tree {
		if n.Object != "biz" || n.ID != biz || i > 0 {
			return nil, &BeyondError{API: searchTopology.name, What: n.String()}
		}
		top = &tree[i]
	}
	if top == nil {
		return nil, c.orUnknown(ctx, biz, fmt.Errorf("the answer of %s has no business", searchTopology.name))
	}
	return setsBelow(*top)
}

// setsBelow returns the sets below a node. A node that cannot be read is an error, because its hosts would be missing.
func setsBelow(n node) ([]Set, error) {
	var sets []Set
	for _, child := range n.Children {
		if child.Default != 0 {
			continue
		}
		below, err := []Set(nil), error(nil)
		switch {
		case child.ID <= 0, child.Object == "", child.Object == "module":
			err = misplaced(child, n)
		case child.Object == "set":
			below = make([]Set, 1)
			below[0], err = setOf(child)
		default:
			below, err = setsBelow(child)
		}
		if err != nil {
			return nil, err
		}
		sets = append(sets, below...)
	}
	return sets, nil
}

func setOf(n node) (Set, error) {
	set := Set{ID: n.ID, Name: n.Name}
	for _, child := range n.Children {
		switch {
		case child.Default != 0:
		case child.ID <= 0, child.Object != "module":
			return Set{}, misplaced(child, n)
		default:
			set.Modules = append(set.Modules, Module{ID: child.ID, Name: child.Name})
		}
	}
	return set, nil
}

func misplaced(n, above node) error {
	return fmt.Errorf("the answer of %s has %s below %s, without an id or of a kind that is not expected there: its hosts would be missing", searchTopology.name, n, above)
}

// business is a row of search_business.
type business struct {
	ID   int64  `json:"bk_biz_id"`
	Name string `json:"bk_biz_name"`
}

// orUnknown returns an [UnknownError] if the business does not exist, and else err. That takes a call, so it
// is only used after an error.
func (c *Client) orUnknown(ctx context.Context, biz int64, err error) error {
	if IsNoPermission(err) {
		return err
	}
	list := listing[business, int64]{
		endpoint: searchBusiness, limit: 200, sort: "bk_biz_id", id: func(b business) int64 { return b.ID },
		params: params{"fields": []string{"bk_biz_id", "bk_biz_name"}},
	}
	all, searchErr := list.read(ctx, c)
	if searchErr != nil {
		return err // it says more than searchErr
	}
	unknown := UnknownError{What: "business", Name: fmt.Sprint(biz)}
	for _, b := range all {
		if b.ID == biz {
			return err
		}
		unknown.Nearby = append(unknown.Nearby, fmt.Sprintf("%d (%s)", b.ID, b.Name))
	}
	return &unknown
}

// SetsOf returns the ids of the sets of an environment: "1" for test, "2" for experience, "3" for production.
func (c *Client) SetsOf(ctx context.Context, biz int64, environment string) ([]int64, error) {
	type set struct {
		ID  int64  `json:"bk_set_id"`
		Env string `json:"bk_set_env"`
	}
	list := listing[set, int64]{
		endpoint: searchSet, limit: 200, sort: "bk_set_id", id: func(s set) int64 { return s.ID },
		params: params{"bk_biz_id": biz, "fields": []string{"bk_set_id", "bk_set_env"}, "condition": params{"bk_set_env": environment}},
	}
	sets, err := list.read(ctx, c)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, s := range sets {
		if s.Env != environment || s.ID <= 0 {
			return nil, &BeyondError{API: searchSet.name, What: fmt.Sprintf("set %d of environment %q", s.ID, s.Env)}
		}
		ids = append(ids, s.ID)
	}
	return ids, nil
}

// TemplatesOf returns the ids of the service templates of modules, by module id.
func (c *Client) TemplatesOf(ctx context.Context, biz int64, modules []int64) (map[int64]int64, error) {
	type module struct {
		ID       int64  `json:"bk_module_id"`
		Template *int64 `json:"service_template_id"` // 0 if there is none
	}
	chunks := slices.Collect(slices.Chunk(modules, maxFilter))
	answers := make([]rows[module], len(chunks))
	requests, within := errgroup.WithContext(ctx)
	for i, chunk := range chunks {
		requests.Go(func() error {
			return c.call(within, findModules, params{"bk_biz_id": biz, "bk_ids": chunk, "fields": []string{"bk_module_id", "service_template_id"}}, &answers[i])
		})
	}
	if err := requests.Wait(); err != nil {
		return nil, err
	}
	templates := make(map[int64]int64, len(modules))
	for i, answer := range answers {
		for _, m := range answer.Info {
			if !slices.Contains(chunks[i], m.ID) {
				return nil, &BeyondError{API: findModules.name, What: fmt.Sprintf("module %d", m.ID)}
			}
			if m.Template == nil {
				return nil, fmt.Errorf("the answer of %s does not say of which service template module %d is", findModules.name, m.ID)
			}
			templates[m.ID] = *m.Template
		}
	}
	for _, id := range modules {
		if _, found := templates[id]; !found {
			return nil, fmt.Errorf("the answer of %s lacks module %d", findModules.name, id)
		}
	}
	return templates, nil
}

// Template is a service template.
type Template struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Templates returns the service templates of a business.
func (c *Client) Templates(ctx context.Context, biz int64) ([]Template, error) {
	list := listing[Template, int64]{
		endpoint: listTemplates, limit: 500, sort: "id", id: func(t Template) int64 { return t.ID },
		params: params{"bk_biz_id": biz},
	}
	return list.read(ctx, c)
}
