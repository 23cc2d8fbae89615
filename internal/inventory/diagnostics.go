package inventory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
)

const (
	summaryInvalidExpression = "Invalid Expression"
	summaryNotRead           = "Unable to Read Hosts"
)

// settings maps what CMDB may not have to the attribute that names it.
var settings = map[string]path.Path{
	"business":         path.Root("bk_biz_id"),
	"set":              path.Root("topology").AtName("set"),
	"module":           path.Root("topology").AtName("module"),
	"dynamic group":    path.Root("dynamic_group"),
	"service template": path.Root("service_template"),
	"host":             path.Root("bk_host_ids"),
	"process":          path.Root("process_name"),
	"process id":       path.Root("bk_process_ids"),
}

// selectFailed returns the error for hosts or processes that could not be read.
func selectFailed(biz int64, err error) diag.Diagnostic {
	var (
		unknown *cmdb.UnknownError
		moved   *cmdb.ListError
		beyond  *cmdb.BeyondError
	)
	switch {
	case errors.As(err, &unknown):
		return diagnose.About(settings[unknown.What], diag.NewErrorDiagnostic("Not Found in CMDB", diagnose.Sentence(err.Error())))
	case errors.As(err, &moved):
		return diag.NewErrorDiagnostic(summaryNotRead, diagnose.Sentence(err.Error())+
			"\n\nHosts would be missing, so none are returned. If many hosts are being changed in CMDB at the moment, plan again later.")
	case errors.As(err, &beyond):
		return diag.NewErrorDiagnostic(summaryNotRead, diagnose.Sentence(err.Error())+
			"\n\nHosts outside the scope would be among them, so none are returned. This CMDB may be too old for the provider: list_biz_hosts_topo has to know the filters by set, module and host.")
	}
	return diagnose.CallFailed(summaryNotRead, fmt.Sprintf("CMDB could not be asked for the hosts of business %d.", biz), err)
}

// tooFew returns the error for fewer hosts than min_hosts.
func tooFew(biz int64, hosts, inScope int, least int64) diag.Diagnostic {
	return tooFewOf("hosts", biz, hosts, inScope, least)
}

// tooFewOf is tooFew for a certain kind of hosts.
func tooFewOf(what string, biz int64, hosts, inScope int, least int64) diag.Diagnostic {
	text := fmt.Sprintf("Business %d has %d %s in this scope", biz, hosts, what)
	if inScope > hosts {
		text = fmt.Sprintf("Of %d hosts that business %d has in this scope, %d pass the filter", inScope, biz, hosts)
	}
	return diagnose.About(path.Root("min_hosts"), diag.NewErrorDiagnostic("Too Few Hosts", fmt.Sprintf("%s; min_hosts requires %d.\n\n"+
		"This is an error so that no plan removes hosts because CMDB was emptied or queried with a wrong scope. If CMDB is right, lower min_hosts.", text, least)))
}

// faults returns the errors for hosts that cannot be named.
func (in *inventory) faults() diag.Diagnostics {
	var diags diag.Diagnostics
	if len(in.unusable) > 0 {
		diags.AddError("Hosts Without Name", "These hosts are in scope, and cannot be addressed or have no key:\n\n"+rows(in.unusable)+
			"\nComplete them in CMDB, leave them out of the scope, or set address or key to what they have.")
	}
	if len(in.clashes) > 0 {
		diags.AddError("Hosts With One Name", "Hosts can only be told apart by keys and addresses:\n\n"+rows(in.clashes)+
			"\nAdd another field to key, such as {bk_host_id}, or correct them in CMDB.")
	}
	return diags
}

// faults returns the errors for processes that cannot be hosted as they are.
func (g *processGroups) faults() diag.Diagnostics {
	var diags diag.Diagnostics
	if len(g.unusable) > 0 {
		diags.AddError("Processes That Cannot Be Hosted", "These processes cannot be rendered, or lack what hosting requires:\n\n"+rows(g.unusable)+
			"\nCorrect them in CMDB, or leave them out with process_name or a smaller scope.")
	}
	if len(g.clashes) > 0 {
		diags.AddError("Processes With One Name", "GSE tells processes on a host apart by their names:\n\n"+rows(g.clashes)+
			"\nRename one of them in CMDB, or leave one out with a smaller scope.")
	}
	if len(g.differing) > 0 {
		diags.Append(diagnose.About(path.Root("group_by"), diag.NewErrorDiagnostic("Processes That Differ", "Hosts of one element must have the same spec and priority:\n\n"+rows(g.differing)+
			fmt.Sprintf("\nMake them alike in CMDB, or set group_by = %q, which separates them. That changes all keys of a data source, so read these processes in a data source of their own, by process_name, and list all others in the process_name of this one.", g.apart))))
	}
	return diags
}

// maxRows is how many lines one error has.
const maxRows = 20

// rows indents lines, and makes them printable: names from CMDB may contain any character.
func rows(lines []string) string {
	var text strings.Builder
	for i, line := range lines {
		if i == maxRows {
			fmt.Fprintf(&text, "  and %d more\n", len(lines)-maxRows)
			break
		}
		text.WriteString("  " + bkapi.Printable(line) + "\n")
	}
	return text.String()
}
