package face_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// contractTopology is the topology of the contract's cases.
const contractTopology = `{"businesses":[
	{"id":3,"name":"shop",
		"templates":[{"id":50,"name":"nginx","processes":[{
			"bk_process_name":"nginx","bk_func_name":"nginx","work_path":"/opt/nginx","pid_file":"/run/nginx-${local_inst_id}.pid","user":"root",
			"start_cmd":"./start.sh","stop_cmd":"./stop.sh","reload_cmd":"./reload.sh","face_stop_cmd":"./kill.sh","proc_num":2,"priority":1,
			"bind_info":[{"enable":true,"ip":"1","port":"80","protocol":"1"}]}]}],
		"sets":[{"id":11,"name":"gz-1","modules":[
			{"id":60,"name":"nginx","template":"nginx","hosts":[{"id":4,"ip":"10.0.0.8","name":"web-1","agent_id":"020000000052540000000117000000000001",
				"labels":{"az":"1"},"fields":{"bk_host_innerip":"10.0.0.8,10.1.0.8"}}]},
			{"id":61,"name":"odd","processes":[],"hosts":[{"id":5,"cloud":1,"no_agent":true,
				"fields":{"bk_host_innerip":"10.0.0.9","bk_host_innerip_v6":"2001:db8::9","bk_addressing":"dynamic","bk_os_type":null}}]}]}],
		"groups":[
			{"id":"c0ffee0000000000a1","name":"web","object":"host","conditions":[{"bk_obj_id":"module","field":"bk_module_name","operator":"$eq","value":"nginx"}]},
			{"id":"c0ffee0000000000a2","name":"production","object":"set","conditions":[{"bk_obj_id":"set","field":"bk_set_name","operator":"$eq","value":"gz-1"}]}],
		"orphans":[{"host":"0:10.0.0.8","processes":[{"bk_process_name":"ghost"}]}]},
	{"id":4,"name":"closed","no_permission":true}]}`

// chosen replaces numbers that a topology cannot set.
var chosen = strings.NewReplacer(`"service_instance_ids":[49]`, `"service_instance_ids":[1]`, `"ids":[49]`, `"ids":[1]`,
	`"service_instance_id":49`, `"service_instance_id":1`, `"bk_process_ids":[45]`, `"bk_process_ids":[1]`, `"process_template_ids":[48]`, `"process_template_ids":[1]`)

// Each case of CMDB's contract is accepted, and answered in the contract's shape.
func TestContract_cmdb(t *testing.T) {
	t.Parallel()
	for _, of := range contract.Cases("cmdb", "cmdb-apigw") {
		t.Run(of.ID(), func(t *testing.T) {
			t.Parallel()
			c := simtest.NewCMDB(t, contractTopology, func(sim *simulator.Server) { sim.OldCMDB = of.Name == "older" })
			path, header := "/api/c/compapi/v2/cc/"+of.Endpoint+"/", map[string]string{}
			if of.Face == "cmdb-apigw" {
				biz, group := int64(3), "c0ffee0000000000a1"
				switch of.Name {
				case "permission":
					biz = 4
				case "sets", "set-ids":
					group = "c0ffee0000000000a2"
				}
				path, header["X-Bkapi-Authorization"] = simtest.CMDBPath(of.Endpoint, biz, group), simtest.GatewayAuth
			}
			sent, err := json.Marshal(tree(t, of.Request))
			simtest.Must(t, err)
			got, want := c.Request(http.MethodPost, path, chosen.Replace(string(sent)), header), tree(t, of.Response)
			for _, member := range []string{"code", "bk_error_code", "message", "permission"} {
				simtest.Want(t, member, got.Body[member], want[member])
			}
			for _, problem := range unlike("", want, got.Body, []string{"request_id"}) {
				t.Errorf("%s: %v", problem, got.Body)
			}
			if data, ok := want["data"].(map[string]any); ok {
				simtest.Want(t, "count", got.Data["count"], data["count"])
			}
			if slices.Contains([]string{"ignored", "limit", "fields", "both"}, of.Name) {
				c.Sim.ResetViolations() // which the cases cause
			}
		})
	}
}
