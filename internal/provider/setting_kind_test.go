package provider

import (
	"fmt"
	"testing"
)

// A number from the environment has the same limits as one from the provider block.
func TestSettings_numberLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2": "", "5": "",
		"1": `"1" is not a whole number from 2 to 5`, "6": `"6" is not a whole number from 2 to 5`, "2.5": `"2.5" is not a whole number from 2 to 5`,
	} {
		var number int
		said := ""
		if err := newNumber(&number, 3, 2, 5).parse(text); err != nil {
			said = err.Error()
		}
		if got := fmt.Sprint(number); said != want || (got == text) != (want == "") {
			t.Errorf("%s: is %s, said %q, want %q", text, got, said, want)
		}
	}
}
