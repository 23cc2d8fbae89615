package face

// agentIDLimit is the maximum length of an agent id in the gateway's documents.
const agentIDLimit = 64

// agentIDListShape refuses the whole request for one empty id, as the real server was seen to do.
var agentIDListShape = shape{
	kind: kindList,
	elem: &shape{kind: kindString, check: func(v any) (string, string) {
		switch id, _ := v.(string); {
		case id == "":
			return "", "must not be empty"
		case len(id) > agentIDLimit:
			return "", "must not be longer than 64 characters"
		}
		return "", ""
	}},
	check: notEmpty,
}

// aSelector requires agent_id_list or hosts. The platform ignores hosts if both are given, which is a
// finding of oneSelector.
func aSelector(v any) (string, string) {
	if members, _ := v.(map[string]any); members["agent_id_list"] == nil && members["hosts"] == nil {
		return "agent_id_list", missingField + ", or hosts"
	}
	return "", ""
}

func oneSelector(v any) (string, string) {
	if members, _ := v.(map[string]any); members["agent_id_list"] != nil && members["hosts"] != nil {
		return "hosts", "is ignored beside agent_id_list"
	}
	return "", ""
}

// asAtGateway adapts fields of the ESB's second generation: hosts may be named in either way.
func asAtGateway(fields map[string]field) map[string]field {
	return with(fields, map[string]field{"hosts": optional(hostsShape(false)), "agent_id_list": optional(agentIDListShape)})
}

func atGateway(s shape) shape {
	s.check, s.lint = aSelector, oneSelector
	return s
}

// upgradedHostShape is a host of upgrade_to_agent_id, as NodeMan sends it. To return the host to its
// address, bk_agent_id is that address.
var upgradedHostShape = object(map[string]field{
	"ip":          required(ipShape),
	"bk_cloud_id": required(countShape),
	"bk_agent_id": required(*agentIDListShape.elem),
})

// gatewayShapes are the bodies by API name. They have no public document: they are the ESB's of the
// second generation with agent ids, as clients send them. Both names of the policy are valid, and both
// may have op_timeout.
var gatewayShapes = map[string]shape{
	"update_proc_info": atGateway(object(asAtGateway(map[string]field{
		"meta": required(metaShape),
		"spec": required(operateSpecShape),
	}))),
	"operate_proc_v2": atGateway(operateShape(asAtGateway)),
	"operate_proc_multi": object(map[string]field{
		"proc_operate_req": required(gatewayItemsShape()),
	}),
	"get_proc_operate_result_v2": object(requestFields["get_proc_operate_result_v2"]),
	"get_proc_status_v2":         atGateway(object(asAtGateway(requestFields["get_proc_status_v2"]))),
	"sync_proc_status":           object(requestFields["sync_proc_status"]),
	"list_agent_state":           agentsShape,
	"list_agent_info":            agentsShape,
	"get_task_state":             taskStateShape,
	"async_execute_script":       executeScriptShape,
	"get_execute_script_result":  scriptResultShape,
	"upgrade_to_agent_id": object(map[string]field{
		"hosts": required(shape{kind: kindList, elem: &upgradedHostShape, check: notEmpty}),
	}),
}

func gatewayItemsShape() shape {
	elem := atGateway(operateShape(asAtGateway))
	return shape{kind: kindList, elem: &elem, check: notEmpty}
}
