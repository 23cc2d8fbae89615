package control

import (
	"fmt"
	"net/http"

	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
)

// change changes what CMDB knows.
func (e Endpoint) change(w http.ResponseWriter, r *http.Request) {
	var change struct {
		Action  string         `json:"action"`
		Module  string         `json:"module"`
		Host    string         `json:"host"`
		Hosts   cmdb.Hosts     `json:"hosts"`
		Process string         `json:"process"`
		Fields  map[string]any `json:"fields"`
	}
	if !readControl(w, r, &change) {
		return
	}
	do := map[string]func() error{
		"add": func() error {
			_, err := e.CMDB.Add(change.Module, change.Hosts)
			return err
		},
		"share":          func() error { return e.CMDB.Share(change.Module, change.Host) },
		"empty":          func() error { return e.CMDB.Empty(change.Module) },
		"remove":         func() error { return e.CMDB.Remove(change.Host) },
		"change_host":    func() error { return e.CMDB.ChangeHost(change.Host, change.Fields) },
		"change_process": func() error { return e.CMDB.ChangeProcess(change.Module, change.Process, change.Fields) },
	}[change.Action]
	if do == nil {
		http.Error(w, fmt.Sprintf("action: %q is unknown", change.Action), http.StatusBadRequest)
		return
	}
	if err := do(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, struct{}{})
}
