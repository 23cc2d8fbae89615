package histories

import "testing"

// knownBroken is what histories leave out, and why. Each has a history in TestFound that
// fails: when it does not fail any more, it is to be taken from here.
var knownBroken = map[string]string{}

// found are histories that something was found with, in their shortest form, by what
// they were found for.
var found = map[string]struct {
	open      string // the switch that leaves out what is broken, nothing if it is mended
	invariant Invariant
	kind      string
	history   History
}{
	"a-row-by-agent-id-alone": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Console, Hosts: []int{1}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1}, To: BySupplier},
		{Do: Inject, To: "rows-by-agent"},
		{Do: Apply, On: A},
	}}},
	"a-row-by-address-alone": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Console, Hosts: []int{1}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Inject, To: "rows-by-host"},
		{Do: Apply, On: A},
	}}},
	"a-row-without-a-host": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Console, Hosts: []int{1}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Inject, To: "rows-unnamed"},
		{Do: Apply, On: A},
	}}},
	"a-missing-row": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Console, Hosts: []int{1}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Inject, To: "rows-hidden"},
		{Do: Apply, On: A},
	}}},
	"renamed": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Rename, On: A, Hosts: []int{1}, To: ByAddress},
	}}},
	"another-entry": {"", 0, "", History{Machines: 1, EntryPerName: true, Steps: []Step{
		{Do: Console, Hosts: []int{1}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
	}}},
	"create-before-destroy": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Recreate, On: A},
	}}},
	"two-configurations": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Join, On: B, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: B},
		{Do: SetLabel, On: A, To: "two"},
		{Do: Apply, On: A},
	}}},
	"added-where-a-stranger-is": {"", 0, "", History{Machines: 2, Steps: []Step{
		{Do: Console, Hosts: []int{2}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Join, On: A, Hosts: []int{2}, To: ByAddress},
	}}},
	"cut-off-beside-a-stranger": {"", 0, "", History{Machines: 2, Steps: []Step{
		{Do: Console, Hosts: []int{1}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Apply, On: A, Cut: 4},
	}}},
	"failed-where-a-stranger-is": {"", 0, "", History{Machines: 2, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Console, Hosts: []int{2}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAddress},
		{Do: Inject, Hosts: []int{2}, To: "register-fails"},
		{Do: Apply, On: A},
	}}},
	"asked-in-vain-where-a-stranger-is": {"", 0, "", History{Machines: 3, Steps: []Step{
		{Do: Console, Hosts: []int{2}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1, 2, 3}, To: ByAddress},
		{Do: Inject, Hosts: []int{2}, To: "query-fails"},
		{Do: Apply, On: A},
	}}},
	"destroyed-while-the-file-has-an-earlier-owner": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Freeze},
		{Do: Recreate, On: A},
		{Do: Destroy, On: A},
	}}},
	"claimed-and-not-heard-of": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Inject, To: "register-lost"},
		{Do: Recreate, On: A},
	}}},
	"hosted-and-not-registered": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Console, Hosts: []int{1}, To: actHost},
	}}},
	"cut-off-while-it-lags": {"", 0, "", History{Machines: 2, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Freeze},
		{Do: Join, On: A, Hosts: []int{2}, To: BySupplier},
		{Do: Apply, On: A, Cut: 2, Late: true},
		{Do: SetDefault, To: "x"},
		{Do: Apply, On: A},
	}}},
	"operated-for-what-was-before": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: SetEnsure, On: A, To: "running"},
		{Do: Apply, On: A},
		{Do: Operate, To: "reload"},
		{Do: Inject, To: "all-lost"},
		{Do: SetTrigger, To: "two"},
		{Do: Operate, To: "reload"},
		{Do: SetTrigger, To: "one"},
	}}},
	"destroyed-where-rows-have-no-host": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Inject, To: "rows-unnamed"},
		{Do: Inject, To: "release-403"},
		{Do: Destroy, On: A, Blind: true},
	}}},
	"destroyed-while-it-lags": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Freeze},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Inject, To: "release-refused"},
		{Do: Destroy, On: A},
	}}},
	"left-while-it-lags": {"", 0, "", History{Machines: 2, Steps: []Step{
		{Do: SetLag, Times: -1},
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Inject, To: "release-fails"},
		{Do: Leave, On: A, Hosts: []int{1}},
		{Do: Apply, On: A},
	}}},
	"a-stranger-while-it-lags": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Freeze},
		{Do: Console, Hosts: []int{1}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
	}}},
	"unregistered-and-not-stopped": {"", 0, "", History{Machines: 2, Steps: []Step{
		{Do: SetOnDestroy, On: A, To: "stop"},
		{Do: SetEnsure, On: A, To: "running"},
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Console, Hosts: []int{1}, To: actUnregister},
		{Do: Destroy, On: A},
	}}},
	"operation-forgotten": {"", 0, "", History{Machines: 2, Steps: []Step{
		{Do: SetEnsure, On: A, To: "running"},
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Inject, Hosts: []int{1}, To: "operate-fails"},
		{Do: Operate, To: "restart"},
		{Do: Mend},
		{Do: Rename, On: A, Hosts: []int{1}, To: BySupplier},
	}}},
	"operated-when-renamed": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: SetEnsure, On: A, To: "running"},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Operate, To: "restart"},
		{Do: Rename, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Operate},
	}}},
	"renamed-between-entries": {"", 0, "", History{Machines: 1, EntryPerName: true, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Rename, On: A, Hosts: []int{1}, To: ByAgent},
	}}},
	"a-strangers-entry-left-alone": {"", 0, "", History{Machines: 2, EntryPerName: true, Steps: []Step{
		{Do: Console, Hosts: []int{1}, To: actRegister},
		{Do: Console, Hosts: []int{1}, To: actStop},
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Console, Hosts: []int{1}, To: actUnregister},
		{Do: Leave, On: A, Hosts: []int{1}},
		{Do: Apply, On: A},
	}}},
	"renamed-while-it-does-not-answer": {"", 0, "", History{Machines: 2, EntryPerName: true, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Unreachable, Hosts: []int{2}},
		{Do: Rename, On: A, Hosts: []int{2}, To: BySupplier},
		{Do: Apply, On: A},
		{Do: Leave, On: A, Hosts: []int{2}},
	}}},
	"renamed-once-it-answers": {"", 0, "", History{Machines: 1, EntryPerName: true, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Unreachable, Hosts: []int{1}},
		{Do: Rename, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
	}}},
	"registered-over-and-renamed": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Rename, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Console, Hosts: []int{1}, To: actRegister},
	}}},
	"renamed-to-what-a-stranger-has": {"", 0, "", History{Machines: 1, EntryPerName: true, Steps: []Step{
		{Do: Console, Hosts: []int{1}, To: actRegister},
		{Do: Console, Hosts: []int{1}, To: actStop},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: SetDefault, To: "y"},
		{Do: Apply, On: A},
		{Do: SetGateway, To: "esb"},
	}}},
	"recreated-by-another-name": {"", 0, "", History{Machines: 1, EntryPerName: true, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: SetGateway, To: "esb"},
		{Do: Recreate, On: A},
	}}},
	"another-configuration-by-another-name": {"", 0, "", History{Machines: 1, EntryPerName: true, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Join, On: B, Hosts: []int{1}, To: ByAgent},
		{Do: SetGateway, To: "esb"},
		{Do: Apply, On: B},
	}}},
	"another-configuration-once-it-is-unhosted": {"", 0, "", History{Machines: 1, EntryPerName: true, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Console, Hosts: []int{1}, To: actUnhost},
		{Do: Join, On: B, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: B},
	}}},
	"let-go-beside-another-entry": {"", 0, "", History{Machines: 1, EntryPerName: true, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Join, On: B, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: B},
		{Do: Console, Hosts: []int{1}, To: actUnhost},
		{Do: Apply, On: A},
	}}},
	"operated-on-the-way-to-the-esb": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Operate, To: "restart"},
		{Do: SetGateway, To: "esb"},
	}}},
	"left-to-an-earlier-owner-while-it-does-not-answer": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: BySupplier},
		{Do: Apply, On: A},
		{Do: Taint, On: A},
		{Do: Freeze},
		{Do: Apply, On: A},
		{Do: Leave, On: A, Hosts: []int{1}},
		{Do: Unreachable, Hosts: []int{1}},
		{Do: Apply, On: A},
	}}},
	"replaced-for-an-earlier-owner-while-it-does-not-answer": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A, Cut: 4},
		{Do: Freeze},
		{Do: Apply, On: A},
		{Do: Taint, On: A},
		{Do: Unreachable, Hosts: []int{1}},
		{Do: Apply, On: A},
	}}},
	"recreated-by-another-name-while-it-lags": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Freeze},
		{Do: Rename, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Recreate, On: A},
	}}},
	"cut-off-create-while-it-lags": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: SetEnsure, On: A, To: "running"},
		{Do: SetLag, Times: -1},
		{Do: Apply, On: A, Cut: 3, Late: true},
		{Do: Apply, On: A},
	}}},
	"registered-over-while-in-doubt": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: BySupplier},
		{Do: Apply, On: A, Cut: 4},
		{Do: Console, Hosts: []int{1}, To: actRegister},
		{Do: Leave, On: A, Hosts: []int{1}},
	}}},
	"to-be-killed-and-cut-off": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: SetEnsure, On: A, To: "running"},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: SetOnDestroy, On: A, To: "kill"},
		{Do: Apply, On: A, Cut: 1},
		{Do: Destroy, On: A},
	}}},
	"planned-before-it-shows": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: SetLag, Times: 1},
		{Do: Console, Hosts: []int{1}, To: actUnregister},
		{Do: Apply, On: A, Planned: true},
	}}},
	"renamed-on-the-way-to-the-gateway": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: SetGateway, To: "apigw"},
		{Do: Rename, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
	}}},
	"one-machine-by-two-names": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: SetEnsure, On: A, To: "running"},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Double, On: A, Hosts: []int{1}},
		{Do: Apply, On: A},
	}}},
	"operated-by-two-names": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: SetEnsure, On: A, To: "running"},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Double, On: A, Hosts: []int{1}},
		{Do: Operate, To: "restart"},
	}}},
	"labels-of-the-platform": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: RowLabels},
	}}},
	"operated-for-a-label": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Operate, To: "restart"},
		{Do: SetLabel, On: A, To: "two"},
	}}},
	"operated-before-it-is-registered": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: SetLabel, On: A, To: "two"},
		{Do: Operate, To: "restart"},
		{Do: SetLabel, On: A, To: "one"},
	}}},
	"hosted-once-it-is-unregistered": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A, Cut: 3, Late: true},
		{Do: SetLag, Times: 1},
		{Do: Apply, On: A},
		{Do: Console, Hosts: []int{1}, To: actUnregister},
		{Do: Apply, On: A},
	}}},
}

// What histories have found is mended and stays so; what is known to be broken and is
// left out elsewhere is broken still.
func TestFound(t *testing.T) {
	t.Parallel()
	for name, f := range found {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			breach := play(f.history, nil)
			switch {
			case f.open == "" && breach != nil:
				t.Error(breach)
			case f.open == "":
			case knownBroken[f.open] == "":
				t.Errorf("%q is not known to be broken", f.open)
			case breach == nil:
				t.Errorf("it is mended: take %q from knownBroken and from this table", f.open)
			case breach.Invariant != f.invariant || breach.Kind != f.kind:
				t.Errorf("it fails in another way: %s", breach)
			}
		})
	}
}
