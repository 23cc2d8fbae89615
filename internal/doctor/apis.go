package doctor

import (
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// api is an API that the provider calls, and what it is used for.
type api struct {
	name, use string
}

// system is a unit for which an application requests permissions: a system of the ESB, or a gateway.
type system struct {
	esb, gateway string
}

var (
	gseSystem  = system{"GSE", "bk-gse"}
	jobSystem  = system{"JOB", ""}
	cmdbSystem = system{"CC", "bk-cmdb"}
)

// gseAPIs are the APIs of bk_hosted_process, bk_process_operation, bk_process_status and
// bk_registrations, by gateway.
var gseAPIs = map[bkapi.Gateway][]api{
	bkapi.ESB: {
		{"get_proc_status_v2", "the cached status"},
		{"get_proc_operate_result_v2", "the results of a task"},
		{"operate_proc_v2", "asking the agents, operations, hosting"},
		{"operate_proc_multi", "several processes in one call"},
		{"register_proc_info", "registering"},
		{"update_proc_info", "registering again"},
		{"unregister_proc_info", "unregistering"},
		{"sync_proc_status", "listing a namespace"},
	},
	bkapi.APIGW: {
		{"get_proc_status_v2", "the cached status"},
		{"get_proc_operate_result_v2", "the results of a task"},
		{"operate_proc_v2", "asking the agents, operations"},
		{"operate_proc_multi", "registering, unregistering, several processes in one call"},
		{"sync_proc_status", "listing a namespace"},
	},
}

// jobAPIs are the APIs of the bk_job_* objects.
var jobAPIs = []api{
	{"get_proc_result", "the results of a task"},
	{"operate_process", "every operation, registering"},
	{"manage_proc", `registering with registration_api = "manage_proc"`},
}

// cmdbAPIs are the APIs of bk_hosts and bk_cmdb_processes. {biz} is the business.
var cmdbAPIs = []struct{ api, path string }{
	{"search_business", "api/v3/biz/search/0"},
	{"list_biz_hosts_topo", "api/v3/hosts/app/{biz}/list_hosts_topo"},
	{"list_process_related_info", "api/v3/findmany/proc/process_related_info/biz/{biz}"},
	{"search_biz_inst_topo", "api/v3/find/topoinst/biz/{biz}"},
	{"search_set", "api/v3/set/search/0/{biz}"},
	{"search_dynamic_group", "api/v3/dynamicgroup/search/{biz}"},
	{"execute_dynamic_group", "api/v3/dynamicgroup/data/{biz}/0"},
	{"list_service_template", "api/v3/findmany/proc/service_template"},
	{"find_module_batch", "api/v3/findmany/module/bk_biz_id/{biz}"},
	{"list_service_instance_detail", "api/v3/findmany/proc/service_instance/details"},
}

// gseAPI returns an API of GSE. Like the provider, the doctor repeats only what is repeatable.
func (p *Platform) gseAPI(name string, repeatable bool) bkapi.API {
	path := "api/c/compapi/v2/gse/" + name + "/"
	if p.Gateway == bkapi.APIGW {
		path = "api/v2/proc/" + name
	}
	return bkapi.API{Name: name, Path: path, Repeatable: repeatable}
}

func (p *Platform) jobAPI(name string) bkapi.API {
	return bkapi.API{Name: name, Path: "api/c/compapi/v2/" + p.JOBAPI + "/" + name + "/"}
}

func (p *Platform) cmdbAPI(name, path, business string) bkapi.API {
	if p.CMDBGateway == bkapi.APIGW {
		return bkapi.API{Name: name, Path: strings.ReplaceAll(path, "{biz}", business), Repeatable: true}
	}
	return bkapi.API{Name: name, Path: "api/c/compapi/v2/cc/" + name + "/", Repeatable: true}
}
