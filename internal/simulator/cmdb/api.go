package cmdb

import (
	"fmt"
	"maps"
	"slices"
)

// api is one API: what its document says about parameters, and what its code accepts.
type api struct {
	fields map[string]kind
	// required parameters are refused if missing; wanted ones are required only by the document.
	required, wanted []string
	most             map[string]int // elements of a list, at most
	page             paging
	answer           func(q *question) (any, *refusal)
}

// kind is the type of a parameter.
type kind string

const (
	anInteger kind = "an integer"
	aText     kind = "a text"
	aFlag     kind = "a boolean"
	anObject  kind = "an object"
	aList     kind = "a list of objects"
	integers  kind = "a list of integers"
	texts     kind = "a list of texts"
)

func (k kind) fits(v any) bool {
	each := func(one kind) bool {
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(element any) bool { return !one.fits(element) })
	}
	ok := true
	switch k {
	case anInteger:
		_, ok = v.(int64)
	case aText:
		_, ok = v.(string)
	case aFlag:
		_, ok = v.(bool)
	case anObject:
		_, ok = v.(map[string]any)
	case aList:
		return each(anObject)
	case integers:
		return each(anInteger)
	case texts:
		return each(aText)
	}
	return ok
}

// remarks returns what no document allows in a request although CMDB accepts it.
func (a api) remarks(q *question) []string {
	var remarks []string
	for _, name := range slices.Sorted(maps.Keys(q.params)) {
		_, known := a.fields[name]
		if !known && name != "bk_supplier_account" && (name != "page" || a.page.documented == 0) {
			remarks = append(remarks, name+": unknown field, which CMDB ignores")
		}
	}
	for _, name := range a.wanted {
		if q.missing(name) {
			remarks = append(remarks, name+": required field is missing")
		}
	}
	if a.page.documented > 0 && q.page.limit > a.page.documented && q.page.limit != noLimit {
		remarks = append(remarks, fmt.Sprintf("page.limit: must be between 1 and %d", a.page.documented))
	}
	return remarks
}

// apis are the APIs by their names behind the ESB. Limits are from the documents and the code.
var apis map[string]api

func init() { //nolint:gochecknoinits // the answers refer to the table through their questions
	apis = table()
}

func table() map[string]api {
	pages := paging{documented: 500, most: 1000}
	return map[string]api{
		"search_business": {
			fields: map[string]kind{"fields": texts, "condition": anObject, "biz_property_filter": anObject, "time_condition": anObject},
			page:   paging{documented: 200, most: 1000}, answer: (*question).searchBusiness,
		},
		"search_biz_inst_topo": {
			fields: map[string]kind{"bk_biz_id": anInteger, "level": anInteger}, answer: (*question).searchTopology,
		},
		"search_set": {
			fields: map[string]kind{"bk_biz_id": anInteger, "fields": texts, "condition": anObject, "filter": anObject, "time_condition": anObject},
			wanted: []string{"fields", "page"},
			page:   paging{documented: 200, most: 1000, optional: true}, answer: (*question).searchSet,
		},
		"find_module_batch": {
			fields:   map[string]kind{"bk_biz_id": anInteger, "bk_ids": integers, "fields": texts},
			required: []string{"bk_ids", "fields"}, most: map[string]int{"bk_ids": 500}, answer: (*question).findModules,
		},
		"list_biz_hosts": {
			fields: map[string]kind{
				"bk_biz_id": anInteger, "bk_set_ids": integers, "set_cond": aList, "bk_module_ids": integers, "module_cond": aList,
				"host_property_filter": anObject, "fields": texts,
			},
			wanted: []string{"fields"}, most: map[string]int{"bk_set_ids": 200, "bk_module_ids": 500},
			page: pages, answer: (*question).listHosts,
		},
		"list_biz_hosts_topo": {
			fields: map[string]kind{
				"bk_biz_id": anInteger, "set_property_filter": anObject, "module_property_filter": anObject, "host_property_filter": anObject, "fields": texts,
			},
			wanted: []string{"fields"}, page: paging{documented: 500, most: 500}, answer: (*question).listHostsTopology,
		},
		"find_host_by_topo": {
			fields:   map[string]kind{"bk_biz_id": anInteger, "bk_obj_id": aText, "bk_inst_id": anInteger, "fields": texts},
			required: []string{"bk_obj_id", "bk_inst_id", "fields"}, page: pages, answer: (*question).findHostsBelow,
		},
		"find_host_by_service_template": {
			fields:   map[string]kind{"bk_biz_id": anInteger, "bk_service_template_ids": integers, "bk_module_ids": integers, "fields": texts},
			required: []string{"bk_service_template_ids", "fields"}, most: map[string]int{"bk_service_template_ids": 500, "bk_module_ids": 500},
			page: pages, answer: (*question).findHostsOfTemplate,
		},
		"search_dynamic_group": {
			fields: map[string]kind{"bk_biz_id": anInteger, "condition": anObject, "disable_counter": aFlag},
			page:   paging{documented: 200, most: 1000}, answer: (*question).searchGroups,
		},
		"execute_dynamic_group": {
			fields:   map[string]kind{"bk_biz_id": anInteger, "id": aText, "fields": texts, "disable_counter": aFlag},
			required: []string{"id", "fields"}, page: paging{documented: 200, most: 1000}, answer: (*question).executeGroup,
		},
		"list_service_instance_detail": {
			fields: map[string]kind{
				"bk_biz_id": anInteger, "bk_module_id": anInteger, "bk_host_id": anInteger, "bk_host_list": integers,
				"service_instance_ids": integers, "selectors": aList,
			},
			page: paging{documented: 1000, most: 1000, tooLong: CodePageTooLong}, answer: (*question).listInstances,
		},
		"list_process_instance": {
			fields:   map[string]kind{"bk_biz_id": anInteger, "service_instance_id": anInteger},
			required: []string{"service_instance_id"}, answer: (*question).listProcessesOfInstance,
		},
		"list_process_detail_by_ids": {
			fields:   map[string]kind{"bk_biz_id": anInteger, "bk_process_ids": integers, "fields": texts},
			required: []string{"bk_process_ids"}, most: map[string]int{"bk_process_ids": 500}, answer: (*question).listProcesses,
		},
		"list_service_template": {
			fields: map[string]kind{
				"bk_biz_id": anInteger, "service_category_id": anInteger, "search": aText, "is_exact": aFlag, "service_template_ids": integers,
			},
			page: pages, answer: (*question).listTemplates,
		},
		"list_proc_template": {
			fields: map[string]kind{"bk_biz_id": anInteger, "service_template_id": anInteger, "process_template_ids": integers, "page": anObject},
			most:   map[string]int{"process_template_ids": 200}, answer: (*question).listProcessTemplates,
		},
		"list_process_related_info": {
			fields: map[string]kind{
				"bk_biz_id": anInteger, "set": anObject, "module": anObject, "service_instance": anObject,
				"process_property_filter": anObject, "fields": texts,
			},
			page: pages, answer: (*question).listRelated,
		},
	}
}
