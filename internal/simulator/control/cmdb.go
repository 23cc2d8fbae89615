package control

import (
	"net/http"

	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
)

func (e Endpoint) change(w http.ResponseWriter, r *http.Request) {
	var change cmdb.Change
	if !readControl(w, r, &change) {
		return
	}
	if err := e.CMDB.Apply(change); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, struct{}{})
}
