package reference

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// JobNote begins the description of each JOB object. It ends with a space.
const JobNote = "For platforms whose JOB is older than 3.7. Later releases no longer have these APIs: there, use the object without `job` in its " +
	"name. "

// JobAttributes are scope, bk_biz_id, process and hosts, which say what a process is
// to JOB. With replaces, a process of another name or scope is another object.
func JobAttributes(replaces bool) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"scope":     jobScopeAttribute(replaces),
		"bk_biz_id": jobBizIDAttribute(replaces),
		"process":   jobProcessAttribute(replaces),
		"hosts":     jobHostsAttribute(),
	}
}
