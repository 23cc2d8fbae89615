package histories

// foundWithTimes are those about agents that keep the time of a registration.
var foundWithTimes = map[string]finding{
	"taken-over-and-the-time-is-kept": {"times-kept-by-others", 1, "destroy-fails", History{Machines: 2, KeepsTime: KeepsTime{Reregistering: true}, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{2}, To: ByAddress},
		{Do: Join, On: B, Hosts: []int{2}, To: ByAddress},
		{Do: Apply, On: B},
		{Do: Apply, On: A},
	}}},
	"taken-over-and-the-time-is-kept-in-an-old-file": {"times-kept-by-others", 2, "sibling", History{Machines: 2, KeepsTime: KeepsTime{Reregistering: true}, Steps: []Step{
		{Do: Join, On: A, Hosts: []int{2}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Freeze},
		{Do: Join, On: B, Hosts: []int{2}, To: ByAddress},
		{Do: Apply, On: B},
		{Do: Destroy, On: A},
	}}},
}
