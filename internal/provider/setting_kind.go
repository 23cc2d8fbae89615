package provider

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// kind is the type of a setting. Like a value of package flag, it has a pointer to the setting's variable, and
// its constructor stores the default there.
type kind interface {
	attribute(d setting) schema.Attribute
	// note returns the part of the description about the kind and the default, "" for none.
	note() string
	// set stores a value of the provider block, which the validators of the attribute have checked.
	set(value attr.Value) error
}

// parser is a kind whose value can be set in the environment.
type parser interface {
	parse(text string) error
}

func defaultsTo(value any) string { return fmt.Sprintf("Defaults to `%v`.", value) }

type textKind struct {
	into     *string
	standard string
}

func newText(into *string, standard string) textKind {
	*into = standard
	return textKind{into, standard}
}

func (k textKind) attribute(d setting) schema.Attribute {
	return schema.StringAttribute{MarkdownDescription: d.markdown(), Optional: true, Sensitive: d.secret}
}

func (k textKind) note() string {
	if k.standard == "" {
		return ""
	}
	return defaultsTo(k.standard)
}

func (k textKind) set(value attr.Value) error { return k.parse(textOf(value)) }

func (k textKind) parse(text string) error {
	*k.into = text
	return nil
}

// textOf returns the text of a string value, "" for null and for other types.
func textOf(value attr.Value) string {
	text, _ := value.(types.String)
	return text.ValueString()
}

// urlKind is the base URL of an API, or "".
type urlKind struct{ textKind }

func newURL(into *string) urlKind { return urlKind{newText(into, "")} }

func (k urlKind) set(value attr.Value) error { return k.parse(textOf(value)) }

func (k urlKind) parse(text string) error {
	*k.into = text
	u, err := url.Parse(text)
	if text != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
		return errors.New(quotedURL(text) + " is not an absolute http or https URL such as https://paas.example.com")
	}
	return nil
}

// quotedURL returns a user's URL for a message, or "the URL" if it may contain a password or token.
func quotedURL(endpoint string) string {
	if strings.ContainsAny(endpoint, "@?#") {
		return "the URL"
	}
	return strconv.Quote(endpoint)
}

// choiceKind is one of a few words, the first by default.
type choiceKind struct {
	textKind
	choices []string
}

func newChoice(into *string, choices []string) choiceKind {
	return choiceKind{newText(into, choices[0]), choices}
}

func (k choiceKind) attribute(d setting) schema.Attribute {
	return schema.StringAttribute{
		MarkdownDescription: d.markdown(), Optional: true, Sensitive: d.secret, Validators: []validator.String{stringvalidator.OneOf(k.choices...)},
	}
}

func (k choiceKind) note() string {
	return strings.TrimSpace(reference.OneOf(k.choices) + " " + k.textKind.note())
}

func (k choiceKind) parse(text string) error {
	if !slices.Contains(k.choices, text) {
		return fmt.Errorf(`%q is not one of "%s"`, text, strings.Join(k.choices, `", "`))
	}
	*k.into = text
	return nil
}

// optionalChoice has no default.
func optionalChoice(into *string, choices []string) choiceKind {
	return choiceKind{newText(into, ""), choices}
}

// shapedKind is a text of a certain form. Other characters might end a command on a host.
type shapedKind struct {
	textKind
	form *regexp.Regexp
	is   string
}

var (
	procPath = regexp.MustCompile(`^(?:/|[A-Za-z]:[\\/])[A-Za-z0-9_./\\@+=-]*\.proc$`)
	account  = regexp.MustCompile(`^[A-Za-z0-9_.\\@-]+$`)
)

func newProcPath(into *string, standard string) shapedKind {
	return shapedKind{newText(into, standard), procPath, "an absolute path of a .proc, in letters, digits and _./\\@+=-"}
}

func newAccount(into *string, standard string) shapedKind {
	return shapedKind{newText(into, standard), account, "an account, in letters, digits and _.\\@-"}
}

func (k shapedKind) set(value attr.Value) error { return k.parse(textOf(value)) }

func (k shapedKind) parse(text string) error {
	*k.into = text
	if !k.form.MatchString(text) {
		return fmt.Errorf("%q is not %s", text, k.is)
	}
	return nil
}

// toleranceKind is a number or a percentage of hosts, none by default.
type toleranceKind struct{ textKind }

func newTolerance(into *string) toleranceKind { return toleranceKind{newText(into, "0")} }

func (k toleranceKind) attribute(d setting) schema.Attribute {
	return schema.StringAttribute{
		MarkdownDescription: d.markdown(), Optional: true, Sensitive: d.secret, Validators: []validator.String{reference.ToleranceValidator()},
	}
}

func (k toleranceKind) set(value attr.Value) error { return k.parse(textOf(value)) }

func (k toleranceKind) parse(text string) error {
	*k.into = text
	_, err := fleet.ParseTolerance(text)
	return err
}

type numberKind struct {
	into               *int
	standard, min, max int
}

// noMax is the maximum of a number that has none.
const noMax = math.MaxInt

func newNumber(into *int, standard, minimum, maximum int) numberKind {
	*into = standard
	return numberKind{into, standard, minimum, maximum}
}

func (k numberKind) attribute(d setting) schema.Attribute {
	var limits validator.Int64 = int64validator.Between(int64(k.min), int64(k.max))
	if k.max == noMax {
		limits = int64validator.AtLeast(int64(k.min))
	}
	return schema.Int64Attribute{CustomType: reference.WholeNumber{}, MarkdownDescription: d.markdown(), Optional: true, Sensitive: d.secret, Validators: []validator.Int64{limits}}
}

func (k numberKind) note() string { return defaultsTo(k.standard) }

func (k numberKind) set(value attr.Value) error {
	number, _ := value.(types.Int64)
	*k.into = int(number.ValueInt64())
	return nil
}

func (k numberKind) parse(text string) error {
	number, err := strconv.Atoi(text)
	switch {
	case err == nil && number >= k.min && number <= k.max:
		*k.into = number
		return nil
	case k.max == noMax:
		return fmt.Errorf("%q is not a whole number of at least %d", text, k.min)
	default:
		return fmt.Errorf("%q is not a whole number from %d to %d", text, k.min, k.max)
	}
}

// rateKind is a number of requests per second. There is no limit by default.
type rateKind struct{ into *float64 }

func newRate(into *float64) rateKind { return rateKind{into} }

func (k rateKind) attribute(d setting) schema.Attribute {
	return schema.Float64Attribute{
		MarkdownDescription: d.markdown(), Optional: true, Sensitive: d.secret, Validators: []validator.Float64{reference.RateValidator()},
	}
}

func (k rateKind) note() string { return "" }

func (k rateKind) set(value attr.Value) error {
	rate, _ := value.(types.Float64)
	*k.into = rate.ValueFloat64()
	return nil
}

type durationKind struct {
	into     *time.Duration
	standard time.Duration
}

func newDuration(into *time.Duration, standard time.Duration) durationKind {
	*into = standard
	return durationKind{into, standard}
}

func (k durationKind) attribute(d setting) schema.Attribute {
	return schema.StringAttribute{
		MarkdownDescription: d.markdown(), Optional: true, Sensitive: d.secret,
		Validators: []validator.String{reference.DurationValidator{Min: time.Millisecond}},
	}
}

func (k durationKind) note() string { return "A duration such as `\"30s\"`. " + defaultsTo(k.standard) }

func (k durationKind) set(value attr.Value) error {
	duration, err := time.ParseDuration(textOf(value))
	if err == nil {
		*k.into = duration
	}
	return err
}

// switchKind is off by default.
type switchKind struct{ into *bool }

func newSwitch(into *bool) switchKind { return switchKind{into} }

func (k switchKind) attribute(d setting) schema.Attribute {
	return schema.BoolAttribute{MarkdownDescription: d.markdown(), Optional: true, Sensitive: d.secret}
}

func (k switchKind) note() string { return defaultsTo(false) }

func (k switchKind) set(value attr.Value) error {
	on, _ := value.(types.Bool)
	*k.into = on.ValueBool()
	return nil
}

func (k switchKind) parse(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	*k.into = on
	return nil
}

// labelsKind is empty by default.
type labelsKind struct{ into *map[string]string }

func newLabels(into *map[string]string) labelsKind { return labelsKind{into} }

func (k labelsKind) attribute(d setting) schema.Attribute {
	return schema.MapAttribute{
		MarkdownDescription: d.markdown(), Optional: true, Sensitive: d.secret, ElementType: types.StringType,
		Validators: []validator.Map{reference.LabelsValidator()},
	}
}

func (k labelsKind) note() string { return "" }

func (k labelsKind) set(value attr.Value) error {
	labels, _ := value.(types.Map)
	*k.into = reference.StringMap(labels)
	return nil
}
