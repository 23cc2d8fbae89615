package histories

// foundOvertaken are those in which a machine is registered once more, by another object
// or by another name, and something does not hear of it: the platform's file, or we.
var foundOvertaken = map[string]finding{
	"destroyed-while-the-file-names-it-still": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Freeze},
		{Do: Join, On: B, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: B},
		{Do: Destroy, On: A},
	}}},
	"left-while-the-file-names-it-still": {"", 0, "", History{Machines: 2, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Freeze},
		{Do: Join, On: B, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: B},
		{Do: Leave, On: A, Hosts: []int{1}},
		{Do: Apply, On: A},
	}}},
	"destroyed-before-the-file-knows-any": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Freeze},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Join, On: B, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: B},
		{Do: Destroy, On: A},
	}}},
	"stopped-by-both-names": {"", 0, "", History{Machines: 1, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Inject, To: "release-lost"},
		{Do: SetOnDestroy, On: A, To: "stop"},
		{Do: Rename, On: A, Hosts: []int{1}, To: BySupplier},
		{Do: Apply, On: A},
		{Do: Leave, On: A, Hosts: []int{1}},
	}}},
	"adopted-by-a-row-of-before": {"", 0, "", History{Machines: 2, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Freeze},
		{Do: Destroy, On: A},
		{Do: Console, Hosts: []int{2}, To: actRegister},
		{Do: Apply, On: A},
		{Do: Apply, On: A},
	}}},
	"adopted-by-its-own-row-of-before": {"", 0, "", History{Machines: 2, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Freeze},
		{Do: Leave, On: A, Hosts: []int{2}},
		{Do: Apply, On: A},
		{Do: Console, Hosts: []int{2}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{2}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Apply, On: A},
	}}},
	"replaced-by-another-name-once-unhosted": {"", 0, "", History{Machines: 1, EntryPerName: true, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{1}, To: ByAgent},
		{Do: Apply, On: A},
		{Do: Rename, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Console, Hosts: []int{1}, To: actUnhost},
		{Do: Recreate, On: A},
	}}},
}
