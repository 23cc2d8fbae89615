package reference

import (
	"context"
	"fmt"
	posix "path"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/helpers/validatordiag"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// manyHosts is from where on a resource had better be cut into shards.
const manyHosts = 50000

// hostsValidator checks a folded hosts map.
type hostsValidator struct{}

func (hostsValidator) Description(context.Context) string {
	return "must hold at least one host; every value must be a host address, and each host may stand once"
}

func (v hostsValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v hostsValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	hosts := HostMap{StringValue: req.ConfigValue}
	if hosts.Len() == 0 {
		resp.Diagnostics.Append(validatordiag.InvalidAttributeValueDiagnostic(req.Path, "map must contain at least 1 elements", "0"))
		return
	}
	if hosts.Len() > manyHosts {
		resp.Diagnostics.AddAttributeWarning(req.Path, "Many Hosts", fmt.Sprintf("One resource with %d hosts takes long to plan, and leaves much to "+
			"look through where something fails. With more than %d, cut the map into shards and use for_each; the guide \"Large fleets\" "+
			"in the provider's documentation has an example.", hosts.Len(), manyHosts))
	}
	for key, address := range hosts.All() {
		if address.Null {
			AddInvalid(&resp.Diagnostics, req.Path.AtMapKey(key), diagnose.SummaryInvalidHost, "the address is null; "+fleet.AddressForms)
		}
	}
	// The supplier id plays no part in telling hosts apart here: see fleet.HostID.
	_, faults := fleet.NewInventory(hosts.Known(), 0)
	for _, fault := range faults {
		AddInvalid(&resp.Diagnostics, req.Path.AtMapKey(fault.Key), diagnose.SummaryInvalidHost, fault.Err.Error())
	}
}

// absolutePathValidator takes absolute paths of Linux and of Windows: which of
// the two a host is, only the host knows.
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

// aboveZero wants more than nothing, up to a maximum.
type aboveZero struct {
	max                 float64
	summary, unit, zero string // zero is what to know of 0
}

// percentValidator: the platform takes 0 and then stops the process at once, again
// and again.
func percentValidator() validator.Float64 {
	return aboveZero{
		max: 100, summary: "Invalid Percentage", unit: "percent of the whole machine",
		zero: "With 0 the agent would stop the process as soon as it runs",
	}
}

func RateValidator() validator.Float64 {
	return aboveZero{max: 100000, summary: "Invalid Rate", unit: "requests a second", zero: "For no limit, leave it out"}
}

func (v aboveZero) Description(context.Context) string {
	return fmt.Sprintf("must be above 0 and up to %v %s", v.max, v.unit)
}

func (v aboveZero) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v aboveZero) ValidateFloat64(ctx context.Context, req validator.Float64Request, resp *validator.Float64Response) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	value := req.ConfigValue.ValueFloat64()
	if value > 0 && value <= v.max {
		return
	}
	text := fmt.Sprintf("the value %s; got %v", v.Description(ctx), value)
	if value <= 0 {
		text += ". " + v.zero
	}
	AddInvalid(&resp.Diagnostics, req.Path, v.summary, text)
}

// rolloutValidator warns of a rollout without waves: Terraform drops an attribute
// that it does not know from an object, and a misspelt batch_size would be missed when
// the whole fleet restarts at once.
type rolloutValidator struct{}

func (rolloutValidator) Description(context.Context) string { return "should set batch_size" }

func (v rolloutValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (rolloutValidator) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() || !req.ConfigValue.Attributes()["batch_size"].IsNull() {
		return
	}
	resp.Diagnostics.AddAttributeWarning(req.Path, "Rollout Without Waves", "Attribute "+req.Path.String()+": batch_size is not set, so all hosts "+
		"go at once. If you did set it, look at its spelling: Terraform drops an attribute that an object does not have, and does not say so. "+
		"If all at once is what you want, set batch_size to the number of hosts, or leave rollout out.")
}

func NameValidator(forbidden string) validator.String {
	return stringvalidator.RegexMatches(
		regexp.MustCompile(`^[^\s`+regexp.QuoteMeta(forbidden)+`]+$`),
		fmt.Sprintf("must not be empty and must hold neither white space nor %q, which import ids are taken apart by", forbidden))
}

func md5Validator() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^[0-9a-fA-F]{32}$`), "must be 32 hexadecimal characters")
}

// DurationValidator wants a Go duration of at least the given length.
type DurationValidator struct{ Min time.Duration }

func (v DurationValidator) Description(context.Context) string {
	return fmt.Sprintf(`must be a duration of at least %s, such as "500ms", "30s" or "2m"`, v.Min)
}

func (v DurationValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v DurationValidator) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if d, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || d < v.Min {
		AddInvalid(&resp.Diagnostics, req.Path, "Invalid Duration",
			fmt.Sprintf("the value %s; got %q", v.Description(ctx), req.ConfigValue.ValueString()))
	}
}

// AddInvalid says the path in words as well: inside an object Terraform can show
// no more than the line at which the block begins.
func AddInvalid(diags *diag.Diagnostics, at path.Path, summary, what string) {
	diags.AddAttributeError(at, summary, "Attribute "+at.String()+": "+what+".")
}
