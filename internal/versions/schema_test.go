package versions_test

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// schemas compares what the command line makes of the provider's schemas with what the
// provider says: editors and tfplugindocs read that.
func schemas(w workspace) {
	w.Expect(0, "init")
	served, err := exec.CommandContext(w.T.Context(), "go", "run", "../cmd/bk-schema").Output()
	providertest.NoError(w.T, err)
	printed := w.Expect(0, "providers", "schema", "-json")
	want, got := theProvider(w, string(served)), theProvider(w, printed)

	// What a release does not know of, it leaves out, and nothing else.
	for kind, since := range map[string]since{
		"resource_identity_schemas": sinceIdentity, "action_schemas": sinceActions, "list_resource_schemas": sinceActions,
	} {
		if _, known := got[kind]; known != w.at.has(since) {
			w.T.Errorf("%s has %s: %t", w.at, kind, known)
		}
		if got[kind] == nil {
			delete(want, kind)
		}
	}
	providertest.Same(w.T, "schemas of the provider, and of the command line", want, got)
}

// theProvider returns the schemas of the one provider without what is false, empty or 0.
func theProvider(w workspace, text string) map[string]any {
	w.T.Helper()
	var all struct {
		Schemas map[string]map[string]any `json:"provider_schemas"`
	}
	providertest.Decode(w.T, text, &all)
	for address, one := range all.Schemas {
		if !strings.HasSuffix(address, "/bk") {
			w.T.Errorf("the provider is %s", address)
		}
		dropEmpty(one)
		return one
	}
	return nil
}

func dropEmpty(value map[string]any) {
	for name, v := range value {
		switch inner := v.(type) {
		case map[string]any:
			dropEmpty(inner)
		case []any:
			for _, element := range inner {
				if object, ok := element.(map[string]any); ok {
					dropEmpty(object)
				}
			}
		}
		switch fmt.Sprint(v) {
		case "map[]", "[]", "<nil>", "false", "", "0":
			delete(value, name)
		}
	}
}
