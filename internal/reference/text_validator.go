package reference

import (
	"context"
	"fmt"
	posix "path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

func optionalPath(description string) schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: description,
		Optional:            true,
		Validators:          []validator.String{absolutePathValidator{optional: true}},
	}
}

const summaryInvalidText = "Invalid Value"

// GSE documents no maximum lengths. No real value exceeds these.
const (
	// maxNameLength bounds names. Most come from CMDB, which stores at most 256 characters of one
	// (FieldTypeSingleLenChar in src/common/definitions.go of TencentBlueKing/bk-cmdb), and tools add prefixes
	// and numbers.
	maxNameLength = 512
	// maxFileName is NAME_MAX of Linux, in bytes. The limit of Windows is not larger.
	maxFileName = 255
)

// textValidator rejects texts for which fault returns a message: what is wrong and what is valid, without a
// full stop. It returns "" for a valid text.
type textValidator struct {
	summary, description string
	fault                func(text string) string
}

func (v textValidator) Description(context.Context) string { return v.description }

func (v textValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v textValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if fault := v.fault(req.ConfigValue.ValueString()); fault != "" {
		AddInvalid(&resp.Diagnostics, req.Path, v.summary, fault)
	}
}

// IsPrintable reports whether a text has no character that controls a terminal or is invisible, apart from spaces.
// Messages and plans print names and keys, which may come from CMDB.
func IsPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(char rune) bool { return !unicode.IsPrint(char) && !unicode.Is(unicode.Zs, char) })
}

// notPrintable says what is wrong with a text that IsPrintable rejects.
func notPrintable(what, text string) string {
	return fmt.Sprintf("%s %q has a character that cannot be printed; choose another", what, text)
}

// NameValidator accepts a namespace or name of a process: at least one character, no white space and none of
// the forbidden characters.
func NameValidator(forbidden string) validator.String {
	return textValidator{
		"Invalid Name", fmt.Sprintf("must contain neither white space nor %q", forbidden),
		func(name string) string {
			switch words := strings.Fields(name); {
			case name == "":
				return "the name is empty"
			case len(words) == 0:
				return "the name is nothing but white space"
			case strings.ContainsFunc(name, unicode.IsSpace):
				return fmt.Sprintf("a name must not contain white space; use %q instead of %q", strings.Join(words, "-"), name)
			case !IsPrintable(name):
				return notPrintable("the name", name)
			case strings.ContainsAny(name, forbidden):
				return fmt.Sprintf("a name must not contain %q, which separates the parts of an import id; got %q", forbidden, name)
			case utf8.RuneCountInString(name) > maxNameLength:
				return fmt.Sprintf("the name has %d characters, and no platform is known to store more than %d", utf8.RuneCountInString(name), maxNameLength)
			}
			return ""
		},
	}
}

// accountValidator accepts the name of a system account. Windows allows white space inside of it, but not
// around it.
func accountValidator() validator.String {
	return textValidator{
		summaryInvalidText, "must be the name of a system account",
		func(account string) string { return blankOrPadded(account, "an account, such as root") },
	}
}

// commandValidator accepts any command, and an empty text.
func commandValidator() validator.String {
	return textValidator{
		"Invalid Command", "must be a command",
		func(command string) string {
			if command != "" && strings.TrimSpace(command) == "" {
				return "the command is nothing but white space; if there is none, leave the attribute out"
			}
			return ""
		},
	}
}

// binaryValidator accepts a file name without a directory.
func binaryValidator() validator.String {
	return textValidator{
		"Invalid File Name", "must be the file name of the binary, without its directory",
		func(name string) string {
			base := name[strings.LastIndexAny(name, `/\`)+1:]
			switch fault := blankOrPadded(name, "the file name of the binary, such as nginx"); {
			case fault != "":
				return fault
			case base == "":
				return fmt.Sprintf("%q is a directory, and this is the file name of the binary, such as nginx; its directory goes into setup_path", name)
			case base != name:
				return fmt.Sprintf("%q has a directory in it; set proc_name to %q, and setup_path to the directory", name, base)
			case len(name) > maxFileName:
				return fmt.Sprintf("the file name has %d bytes, and no system takes more than %d", len(name), maxFileName)
			}
			return ""
		},
	}
}

// blankOrPadded returns a fault if a text is empty or has white space around it.
func blankOrPadded(text, wanted string) string {
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == "":
		return "the value is empty; it must be " + wanted
	case trimmed != text:
		return fmt.Sprintf("there is white space around %q; did you mean %q?", text, trimmed)
	}
	return ""
}

// absolutePathValidator accepts absolute paths of Linux and Windows, because the provider does not know which
// of them a host runs. If file is set, it rejects a path that ends like a directory. If optional is set, an
// empty path counts as not set.
type absolutePathValidator struct{ file, optional bool }

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
	if v.optional && value == "" {
		return
	}
	absolute := posix.IsAbs(value) || windowsAbsolute.MatchString(value)
	directory := strings.HasSuffix(value, "/") || strings.HasSuffix(value, `\`)
	if !absolute || (v.file && directory) {
		AddInvalid(&resp.Diagnostics, req.Path, "Invalid Path", fmt.Sprintf("the value %s; got %q", v.Description(ctx), value))
	}
}
