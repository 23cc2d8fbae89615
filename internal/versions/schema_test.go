package versions_test

import (
	"encoding/json"
	"os/exec"
	"strings"

	"github.com/google/go-cmp/cmp"
	tfjson "github.com/hashicorp/terraform-json"
)

// schemas compares what the command line makes of the provider's schemas with what the
// provider says: editors and tfplugindocs read that.
func schemas(w workspace) {
	w.Expect(0, "init")
	served, err := exec.CommandContext(w.T.Context(), "go", "run", "../cmd/bk-schema").Output()
	if err != nil {
		w.T.Fatal(err)
	}
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
	if diff := cmp.Diff(want, got); diff != "" {
		w.T.Errorf("(-provider +command line):\n%s", diff)
	}

	var known tfjson.ProviderSchemas
	if err := json.Unmarshal([]byte(printed), &known); err != nil || len(known.Schemas) != 1 {
		w.T.Fatalf("%v: %d providers in %.200s", err, len(known.Schemas), printed)
	}
	for _, one := range known.Schemas {
		w.described("provider", one.ConfigSchema.Block.Attributes)
		for _, objects := range []map[string]*tfjson.Schema{one.ResourceSchemas, one.DataSourceSchemas, one.ListResourceSchemas} {
			for name, object := range objects {
				w.described(name, object.Block.Attributes)
			}
		}
		for name, action := range one.ActionSchemas {
			w.described("action "+name, action.Block.Attributes)
		}
	}
}

// described fails the test unless each attribute has a description in Markdown, as which
// editors show it.
func (w workspace) described(path string, attributes map[string]*tfjson.SchemaAttribute) {
	w.T.Helper()
	for name, a := range attributes {
		if a.Description == "" || a.DescriptionKind != tfjson.SchemaDescriptionKindMarkdown {
			w.T.Errorf("%s.%s has the description %q, of kind %q", path, name, a.Description, a.DescriptionKind)
		}
		if a.AttributeNestedType != nil {
			w.described(path+"."+name, a.AttributeNestedType.Attributes)
		}
	}
}

// theProvider returns the schemas of the one provider without what is false, empty or 0.
func theProvider(w workspace, text string) map[string]any {
	w.T.Helper()
	var all struct {
		Schemas map[string]map[string]any `json:"provider_schemas"`
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		w.T.Fatal(err)
	}
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
		switch v := v.(type) {
		case map[string]any:
			dropEmpty(v)
			if len(v) == 0 {
				delete(value, name)
			}
		case []any:
			for _, element := range v {
				if object, ok := element.(map[string]any); ok {
					dropEmpty(object)
				}
			}
			if len(v) == 0 {
				delete(value, name)
			}
		case nil:
			delete(value, name)
		case bool:
			if !v {
				delete(value, name)
			}
		case string:
			if v == "" {
				delete(value, name)
			}
		case float64:
			if v == 0 {
				delete(value, name)
			}
		}
	}
}
