package reference

import (
	"context"
	"fmt"
	posix "path"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

func optionalPath(description string) schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: description,
		Optional:            true,
		Validators:          []validator.String{absolutePathValidator{}},
	}
}

// absolutePathValidator accepts absolute paths of Linux and of Windows: which of the two
// a host runs, only the host knows. With file, a path that ends as a directory is refused.
type absolutePathValidator struct{ file bool }

var windowsAbsolute = regexp.MustCompile(`^[A-Za-z]:[\\/]|^\\\\`)

func (v absolutePathValidator) Description(context.Context) string {
	if v.file {
		return "must be the absolute path of a file, such as /run/nginx.pid or C:\\nginx\\nginx.pid"
	}
	return "must be an absolute path, such as /usr/sbin or C:\\nginx"
}

func (v absolutePathValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v absolutePathValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	value := req.ConfigValue.ValueString()
	absolute := posix.IsAbs(value) || windowsAbsolute.MatchString(value)
	directory := strings.HasSuffix(value, "/") || strings.HasSuffix(value, `\`)
	if !absolute || (v.file && directory) {
		AddInvalid(&resp.Diagnostics, req.Path, "Invalid Path", fmt.Sprintf("the value %s; got %q", v.Description(ctx), value))
	}
}
