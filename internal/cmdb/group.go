package cmdb

import (
	"context"
	"slices"
)

// Group is a dynamic group: a saved query.
type Group struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Object is what the group selects: "host" or "set".
	Object string `json:"bk_obj_id"`
}

// Groups returns the dynamic groups of a business.
func (c *Client) Groups(ctx context.Context, biz int64) ([]Group, error) {
	list := listing[Group, string]{
		endpoint: searchGroups, limit: 200, sort: "id", id: func(g Group) string { return g.ID },
		params: params{"bk_biz_id": biz},
	}
	return list.read(ctx, c)
}

// Members returns the ids of the hosts or sets that a dynamic group selects.
func (c *Client) Members(ctx context.Context, biz int64, group Group) ([]int64, error) {
	type member struct {
		Host int64 `json:"bk_host_id"`
		Set  int64 `json:"bk_set_id"`
	}
	field, id := "bk_host_id", func(m member) int64 { return m.Host }
	if group.Object == "set" {
		field, id = "bk_set_id", func(m member) int64 { return m.Set }
	}
	list := listing[member, int64]{
		endpoint: executeGroup, limit: 200, sort: field, id: id,
		params: params{"bk_biz_id": biz, "id": group.ID, "fields": []string{field}},
	}
	members, err := list.read(ctx, c)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(members))
	for i, m := range members {
		if ids[i] = id(m); ids[i] <= 0 {
			return nil, &BeyondError{API: executeGroup.name, What: "a row that is no " + group.Object}
		}
	}
	slices.Sort(ids) // members come in any order
	return ids, nil
}
