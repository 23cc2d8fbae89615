package main

import (
	"bytes"
	"debug/buildinfo"
	"os"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// listModules writes a document with the build information in a binary. It contains no time and no random
// number, so that it is reproducible.
func listModules(binary, document string) error {
	build, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	root := component(cdx.ComponentTypeApplication, build.Main.Path, build.Main.Version)
	components := []cdx.Component{component(cdx.ComponentTypeApplication, "std", build.GoVersion)}
	for _, module := range build.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, component(cdx.ComponentTypeLibrary, module.Path, module.Version))
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &root}
	bom.Components = &components
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(document, text.Bytes(), 0o644)
}

func component(kind cdx.ComponentType, path, version string) cdx.Component {
	name := "pkg:golang/" + path + "@" + version
	return cdx.Component{BOMRef: name, Type: kind, Name: path, Version: version, PackageURL: name}
}
