package inventory

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/cmdb"
)

// renderNames returns the values of the names that GSEKit's templates of paths and commands may use
// (apps/gsekit/pipeline_plugins/components/collections/gse.py). The names added second are their older
// spellings. FuncID is the name of the process, and not its bk_func_name.
func renderNames(p cmdb.Process, local int64) map[string]string {
	names := map[string]string{
		"local_inst_id": strconv.FormatInt(local, 10), "local_inst_id0": strconv.FormatInt(local-1, 10),
		"bk_set_name": p.Place.SetName, "bk_module_name": p.Place.ModuleName, "bk_process_name": p.Name,
	}
	maps.Copy(names, map[string]string{
		"LocalInstID": names["local_inst_id"], "LocalInstID0": names["local_inst_id0"],
		"SetName": p.Place.SetName, "ModuleName": p.Place.ModuleName, "FuncID": p.Name,
	})
	return names
}

// addInstID adds the names for an instance's number among those of all hosts. GSEKit keeps these numbers in its
// own database.
func addInstID(names map[string]string, id int64) {
	text, before := strconv.FormatInt(id, 10), strconv.FormatInt(id-1, 10)
	maps.Copy(names, map[string]string{"inst_id": text, "inst_id_0": before, "InstID": text, "InstID0": before})
}

// instIDNames are the names that addInstID adds.
var instIDNames = []string{"inst_id", "inst_id_0", "InstID", "InstID0"}

var (
	placeForm = regexp.MustCompile(`\$\{\s*(\w+)\s*\}`)
	// Mako has more: blocks, control lines, comments, and continued lines.
	makoForms = regexp.MustCompile(`<%|%>|</%|\$\{|(?m:^[ \t]*%)|(?m:^[ \t]*##)|\\\r?\n`)
)

// render replaces ${name} with its value. It rejects any other syntax of Mako, because it cannot render it.
func render(text string, names map[string]string) (string, error) {
	var fault error
	rendered := placeForm.ReplaceAllStringFunc(text, func(place string) string {
		name := placeForm.FindStringSubmatch(place)[1]
		value, known := names[name]
		switch {
		case known || fault != nil:
		case slices.Contains(instIDNames, name):
			fault = fmt.Errorf("%s is not in CMDB, because GSEKit keeps it in its own database; set it in inst_ids", place)
		default:
			fault = fmt.Errorf("%s is not one of the names %s", place, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
		return value
	})
	if fault != nil {
		return "", fault
	}
	if form := makoForms.FindString(placeForm.ReplaceAllString(text, "")); form != "" {
		return "", fmt.Errorf("it has %q, and only ${name} can be rendered", strings.TrimSpace(form))
	}
	return rendered, nil
}
