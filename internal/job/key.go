package job

import (
	"iter"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// keysOf returns every key under which a result is known to name a host. The document of get_proc_result has
// setup_path/proc_name:bk_cloud_id:ip, in which a value_key replaces the path. Clients have seen the two halves
// in the other order. No document says whether a "/" at the end of setup_path is kept. Keys are never parsed,
// because a Windows path contains a colon.
func keysOf(info Info) procapi.Keys {
	names := []string{
		strings.TrimRight(info.SetupPath, `/\`) + "/" + info.ProcName,
		info.SetupPath + "/" + info.ProcName,
		info.SetupPath + info.ProcName, // "setup_path+proc_name", according to the document of value_key
	}
	if info.ValueKey != nil && *info.ValueKey != "" {
		names = append([]string{*info.ValueKey}, names...)
	}
	return func(h fleet.Host) iter.Seq[string] {
		return func(yield func(string) bool) {
			place := h.Address()
			for _, name := range names {
				if !yield(name + ":" + place) {
					return
				}
			}
			for _, name := range names {
				if !yield(place + ":" + name) {
					return
				}
			}
		}
	}
}
