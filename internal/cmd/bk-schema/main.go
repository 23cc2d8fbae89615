// Command bk-schema prints the provider's schemas in the form of `terraform providers schema -json`. The
// docs are rendered from them. It exists because the installed terraform may be too old to print actions,
// list resources, functions and identities.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/provider"
)

// address is the only address at which tfplugindocs looks up a schema.
const address = "registry.terraform.io/hashicorp/bk"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bk-schema:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	server := provider.NewServer(provider.DefaultOptions("dev"))
	served, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return err
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return err
	}
	for _, d := range append(served.Diagnostics, identities.Diagnostics...) {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			err = errors.Join(err, errors.New(d.Summary+": "+d.Detail))
		}
	}
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	return out.Encode(map[string]any{
		"format_version":   "1.0",
		"provider_schemas": map[string]any{address: describe(served, identities)},
	})
}
