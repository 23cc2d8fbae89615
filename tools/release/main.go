// Command release does what goreleaser does not. It signs without a key agent, lists the modules in a
// binary, and packs a mirror for networks without a registry.
package main

import (
	"fmt"
	"os"
)

const usage = `usage:
  release key FILE               make a throw-away key: FILE, and FILE.pub for who verifies
  release sign FILE SIGNATURE    sign FILE with the key in $SIGNING_KEY_FILE ($SIGNING_PASSPHRASE)
  release verify KEY FILE SIGNATURE
  release sbom BINARY DOCUMENT   list the modules of a Go binary, as CycloneDX
  release mirror DIST            pack DIST's archives and examples/modules into a mirror, signed as they are
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "key":
		return makeKey(args[1])
	case len(args) == 3 && args[0] == "sign":
		return sign(args[1], args[2])
	case len(args) == 4 && args[0] == "verify":
		return verify(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "sbom":
		return listModules(args[1], args[2])
	case len(args) == 2 && args[0] == "mirror":
		return packMirror(args[1])
	}
	fmt.Fprint(os.Stderr, usage)
	os.Exit(2)
	return nil
}
