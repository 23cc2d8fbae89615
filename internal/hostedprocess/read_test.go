package hostedprocess_test

import (
	"strings"
	"testing"
)

// A registration with another spec names the resource that made it.
func TestRead_otherSpecNamesItsOwner(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		first, second := w.object(), w.object()
		first.Applied(w.declares(2))
		second.ApplyUnrefreshed(w.changed(1, attribute("adopt_existing", true)))
		first.Refresh()
		owner, _ := second.Attribute("owner").(string)
		if why := first.Reasons("out_of_sync")["web-1"]; owner == "" || !strings.HasPrefix(why, "other_spec: ") || !strings.HasSuffix(why, ", owner "+owner) {
			t.Errorf("out_of_sync of web-1 is %q, and the owner is %q", why, owner)
		}
	})
}
