package providertest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// EndpointTable reads the page about the application's permissions: the APIs that each object calls, by
// type and gateway.
func EndpointTable() (map[string]map[bkapi.Gateway][]string, error) {
	return endpointsOf(filepath.Join("..", "..", "docs", "guides", "permissions.md"))
}

// EndpointTableInChinese reads the Chinese page.
func EndpointTableInChinese() (map[string]map[bkapi.Gateway][]string, error) {
	return endpointsOf(filepath.Join("..", "..", "docs", "guides", "zh-permissions.md"))
}

// endpointsOf reads the rows of a page: the API, its purpose, whether it changes anything, and the objects
// that call it. A section with ESB in its heading is about the ESB, any other about the gateway.
func endpointsOf(page string) (map[string]map[bkapi.Gateway][]string, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	table := make(map[string]map[bkapi.Gateway][]string)
	name := regexp.MustCompile("`([a-z0-9_]+)`")
	var gateway bkapi.Gateway
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "## ") {
			gateway = bkapi.APIGW
			if strings.Contains(line, "ESB") {
				gateway = bkapi.ESB
			}
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		api := name.FindStringSubmatch(cells[1])[1]
		for _, object := range name.FindAllStringSubmatch(cells[4], -1) {
			if table[object[1]] == nil {
				table[object[1]] = make(map[bkapi.Gateway][]string)
			}
			table[object[1]][gateway] = append(table[object[1]][gateway], api)
			slices.Sort(table[object[1]][gateway])
		}
	}
	return table, nil
}

// recorded holds the APIs that the tests of this run called, by gateway.
var recorded = struct {
	mu   sync.Mutex
	apis map[bkapi.Gateway]map[string]bool
}{apis: map[bkapi.Gateway]map[string]bool{bkapi.ESB: {}, bkapi.APIGW: {}}}

// record adds the APIs that were called to recorded.
func (s *Sim) record() {
	recorded.mu.Lock()
	defer recorded.mu.Unlock()
	for _, call := range s.Calls() {
		gateway := bkapi.ESB
		if call.Face == "apigw" {
			gateway = bkapi.APIGW
		}
		recorded.apis[gateway][call.API] = true
	}
}

// checkRecorded returns an error for a call that the table does not list.
func checkRecorded() error {
	table, err := EndpointTable()
	if err != nil {
		return err
	}
	for gateway, apis := range recorded.apis {
		var listed []string
		for _, object := range table {
			listed = append(listed, object[gateway]...)
		}
		for api := range apis {
			if !slices.Contains(listed, api) {
				return fmt.Errorf("the tests called %s through %q, which docs/guides/permissions.md does not list", api, gateway)
			}
		}
	}
	return nil
}
