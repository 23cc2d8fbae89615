package histories

// foundWithSuppliers are those on platforms that tell suppliers apart.
var foundWithSuppliers = map[string]finding{
	"unregistered-under-another-supplier": {"", 0, "", History{Machines: 1, SuppliersApart: true, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: SetSupplier, To: "2"},
		{Do: Destroy, On: A},
	}}},
	"left-under-another-supplier": {"", 0, "", History{Machines: 2, SuppliersApart: true, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: SetSupplier, To: "2"},
		{Do: Leave, On: A, Hosts: []int{1}},
		{Do: Apply, On: A},
	}}},
	"not-registered-under-another-supplier": {"", 0, "", History{Machines: 2, SuppliersApart: true, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Console, Hosts: []int{2}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: Inject, To: "register-unsent"},
		{Do: SetSupplier, To: "2"},
		{Do: Apply, On: A},
	}}},
	"cut-off-under-another-supplier": {"", 0, "", History{Machines: 3, SuppliersApart: true, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Console, Hosts: []int{3}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{2, 3}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: SetSupplier, To: "3"},
		{Do: Apply, On: A, Cut: 1, Blind: true},
	}}},
	"registered-late-under-another-supplier": {"", 0, "", History{Machines: 2, SuppliersApart: true, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Console, Hosts: []int{2}, To: actRegister},
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: SetSupplier, To: "2"},
		{Do: Inject, To: "register-lost"},
		{Do: Apply, On: A},
		{Do: Destroy, On: A},
	}}},
	"in-doubt-under-another-supplier": {"", 0, "", History{Machines: 1, SuppliersApart: true, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Join, On: A, Hosts: []int{1}, To: ByAddress},
		{Do: Apply, On: A, Cut: 3, Late: true},
		{Do: SetSupplier, To: "2"},
		{Do: Apply, On: A},
	}}},
	"left-after-a-wave-under-another-supplier": {"", 0, "", History{Machines: 2, SuppliersApart: true, Steps: []Step{
		{Do: SetGateway, To: "esb"},
		{Do: Join, On: A, Hosts: []int{1, 2}, To: ByAddress},
		{Do: Apply, On: A},
		{Do: SetSupplier, To: "3"},
		{Do: SetWaves, On: A, Times: 1},
		{Do: Apply, On: A, Cut: 2},
		{Do: Leave, On: A, Hosts: []int{2}},
	}}},
}
