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

// EndpointTable reads the table of docs/index.md by which permissions are granted to the
// application: the APIs that each object calls, by type and gateway.
func EndpointTable() (map[string]map[bkapi.Gateway][]string, error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "index.md"))
	if err != nil {
		return nil, err
	}
	table := make(map[string]map[bkapi.Gateway][]string)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`bk_") {
			continue
		}
		apis := func(cell string) []string {
			var names []string
			for _, match := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(cell, -1) {
				names = append(names, match[1])
			}
			return names
		}
		table[apis(cells[1])[0]] = map[bkapi.Gateway][]string{bkapi.ESB: apis(cells[2]), bkapi.APIGW: apis(cells[3])}
	}
	return table, nil
}

// recorded are the APIs that the tests of this run called, by gateway.
var recorded = struct {
	mu   sync.Mutex
	apis map[bkapi.Gateway]map[string]bool
}{apis: map[bkapi.Gateway]map[string]bool{bkapi.ESB: {}, bkapi.APIGW: {}}}

// record remembers which APIs of a simulator were called.
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
		var told []string
		for _, object := range table {
			told = append(told, object[gateway]...)
		}
		for api := range apis {
			if !slices.Contains(told, api) {
				return fmt.Errorf("the tests called %s through %q, which the table in docs/index.md does not list", api, gateway)
			}
		}
	}
	return nil
}
