package provider

import (
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

const defaultFingerprintLabel = "tf_spec"

// Ways to run a script.
const (
	viaGateway = "gateway"
	viaJob     = "job"
)

// settings holds the values of the provider's settings, from the provider block, the environment and defaults.
type settings struct {
	// API is exported so that fmt finds its Format, which hides the secrets.
	API bkapi.Config

	gateway      string
	jobEndpoint  string
	jobAPI       string
	cmdbEndpoint string
	caCertFile   string

	maxHosts          int
	maxConcurrent     int
	requestsPerSecond float64

	supplier         int
	defaultLabels    map[string]string
	fingerprintLabel string
	maxUnreachable   string
	verify           string

	hosted    hostedspec.Source
	hostedVia string
	jobScope  job.Scope

	declared []setting
	// given maps the name of a setting that is set to its source: that name for the provider block, or the
	// environment variable. An empty text sets nothing.
	given map[string]string
}

// newSettings returns settings with their defaults.
func newSettings() *settings {
	s := &settings{given: make(map[string]string)}
	s.declared = s.declare()
	return s
}

// setting is one setting, with what the provider block, the environment, the documentation and messages need.
type setting struct {
	name        string // prefixed with the name of its object and a dot, if it is in one
	env         string // variable that is used if the block does not set it; "" for none
	description string
	kind        kind // its type, its default, and where its value is kept
	required    bool // in the block or in the environment
	secret      bool
	identity    bool   // names a user; the block's identity takes precedence over all of the environment's
	field       string // field of bkapi.Config that it sets, which errors name; "" for none
}

// declare lists every setting, and stores its default. Everything about a single setting is declared here. The
// file config.go has the conditions on several settings.
func (s *settings) declare() []setting {
	return []setting{
		{
			name: "endpoint", env: "BK_ENDPOINT", field: "Endpoint", required: true, kind: newURL(&s.API.Endpoint),
			description: "Base URL of the ESB (`https://paas.example.com`) or, with `gateway = \"apigw\"`, of the gateway's stage " +
				"(`https://bkapi.example.com/api/bk-gse/prod`).",
		},
		{
			name: "gateway", env: "BK_GATEWAY", field: "Gateway", kind: newChoice(&s.gateway, reference.AsStrings(bkapi.Gateways())),
			description: "What kind of gateway to the platform `endpoint` is.",
		},
		{
			name: "job_endpoint", env: "BK_JOB_ENDPOINT", kind: newURL(&s.jobEndpoint),
			description: "Base URL of the ESB for the `bk_job_*` objects. Defaults to `endpoint` if that is an ESB.",
		},
		{
			name: "job_api", env: "BK_JOB_API", kind: newChoice(&s.jobAPI, reference.AsStrings(job.APIs())),
			description: "Generation of the JOB API, which is part of its URL.",
		},
		{
			name: "cmdb_endpoint", env: "BK_CMDB_ENDPOINT", kind: newURL(&s.cmdbEndpoint),
			description: "Base URL for the objects that ask CMDB: that of the ESB or of the stage of CMDB's gateway (`https://bkapi.example.com/api/bk-cmdb/prod`). " +
				"Defaults to `endpoint`, with `bk-cmdb` in place of `bk-gse`.",
		},
		{
			name: "app_code", env: "BK_APP_CODE", field: "AppCode", required: true, kind: newText(&s.API.AppCode, ""),
			description: "Code of the BlueKing application that calls the APIs.",
		},
		{
			name: "app_secret", env: "BK_APP_SECRET", field: "AppSecret", required: true, secret: true, kind: newText(&s.API.AppSecret, ""),
			description: "Secret of that application.",
		},
		{
			name: "username", env: "BK_USERNAME", field: "Username", identity: true, kind: newText(&s.API.Username, ""),
			description: "User on whose behalf calls are made, for an application that needs no login. One of `username`, `token` and `access_token` is required.",
		},
		{
			name: "token", env: "BK_TOKEN", field: "Token", identity: true, secret: true, kind: newText(&s.API.Token, ""),
			description: "Login token of a user (the cookie `bk_token`), instead of `username`.",
		},
		{
			name: "access_token", env: "BK_ACCESS_TOKEN", field: "AccessToken", identity: true, secret: true, kind: newText(&s.API.AccessToken, ""),
			description: "Access token, instead of `username`.",
		},
		{
			name: "tenant_id", env: "BK_TENANT_ID", field: "TenantID", kind: newText(&s.API.TenantID, ""),
			description: "Tenant, sent as `X-Bk-Tenant-Id`. For platforms with more than one tenant.",
		},
		{
			name: "bk_supplier_id", env: "BK_SUPPLIER_ID", kind: newNumber(&s.supplier, 0, 0, noMax),
			description: "Supplier ID of hosts whose address has none. A `bk_hosted_process` keeps the one with which it was created or imported.",
		},
		{
			name: "default_labels", kind: newLabels(&s.defaultLabels),
			description: "Labels of every registration, under those of `meta.labels`. Changing them re-registers.",
		},
		{
			name: "spec_fingerprint_label", kind: newText(&s.fingerprintLabel, defaultFingerprintLabel),
			description: "Label for the [fingerprint](guides/how-it-works.md#the-fingerprint) of spec and labels. A second one, with `_owner` behind its name, says which resource registered. `\"\"` turns both off.",
		},
		{
			name: "max_unreachable_hosts", env: "BK_MAX_UNREACHABLE_HOSTS", kind: newTolerance(&s.maxUnreachable),
			description: "How many hosts of an object may be unreachable without failing the apply, if it does not say so itself: a number, or a percentage such as `\"5%\"`.",
		},
		{
			name: "verify", env: "BK_VERIFY", kind: newChoice(&s.verify, reference.AsStrings(fleet.Verifies())),
			description: "`verify` of each `bk_hosted_process` that does not set it. With `\"agent\"`, imports have a `spec`.",
		},
		{
			name: "hosted_specs.path", env: "BK_HOSTED_SPECS_PATH", kind: newProcPath(&s.hosted.Path, hostedspec.DefaultPath),
			description: "Path of the agents' file.",
		},
		{
			name: "hosted_specs.windows_path", env: "BK_HOSTED_SPECS_WINDOWS_PATH", kind: newProcPath(&s.hosted.WindowsPath, hostedspec.DefaultWindowsPath),
			description: "The same on Windows.",
		},
		{
			name: "hosted_specs.account", env: "BK_HOSTED_SPECS_ACCOUNT", kind: newAccount(&s.hosted.Account, hostedspec.DefaultAccount),
			description: "Account that the script runs as.",
		},
		{
			name: "hosted_specs.windows_account", env: "BK_HOSTED_SPECS_WINDOWS_ACCOUNT", kind: newAccount(&s.hosted.WindowsAccount, hostedspec.DefaultWindowsAccount),
			description: "The same on Windows.",
		},
		{
			name: "hosted_specs.via", env: "BK_HOSTED_SPECS_VIA", kind: optionalChoice(&s.hostedVia, []string{viaGateway, viaJob}),
			description: "What runs the script. If not set, the API gateway where there is one, otherwise JOB.",
		},
		{
			name: "hosted_specs.job_scope.type", env: "BK_HOSTED_SPECS_JOB_SCOPE_TYPE", kind: newChoice(&s.jobScope.Type, []string{"biz", "biz_set"}),
			description: "Kind of the scope.",
		},
		{
			name: "hosted_specs.job_scope.id", env: "BK_HOSTED_SPECS_JOB_SCOPE_ID", kind: newText(&s.jobScope.ID, ""),
			description: "ID of the business or set.",
		},
		{
			name: "max_hosts_per_request", kind: newNumber(&s.maxHosts, procapi.DefaultMaxHosts, 1, 10000),
			description: "Maximum number of hosts in a request. Larger requests are split.",
		},
		{
			name: "max_concurrent_requests", kind: newNumber(&s.maxConcurrent, 8, 1, noMax),
			description: "Maximum number of concurrent requests of this provider.",
		},
		{
			name: "requests_per_second", kind: newRate(&s.requestsPerSecond),
			description: "Maximum number of requests per second of this provider. Unlimited by default.",
		},
		{
			name: "max_retries", field: "MaxRetries", kind: newNumber(&s.API.MaxRetries, 4, 0, 100),
			description: "How often a call is repeated after transient faults (HTTP 408, 429, 500, 502, 503, 504, lost connections or answers). Operations only if unsent. An address that has accepted no connection yet is tried once.",
		},
		{
			name: "retry_wait_min", field: "RetryWaitMin", kind: newDuration(&s.API.RetryWaitMin, time.Second),
			description: "Shortest wait before a call is repeated.",
		},
		{
			name: "retry_wait_max", field: "RetryWaitMax", kind: newDuration(&s.API.RetryWaitMax, 30*time.Second),
			description: "Longest wait before a call is repeated, unless the platform asks for more.",
		},
		{
			name: "request_timeout", field: "RequestTimeout", kind: newDuration(&s.API.RequestTimeout, time.Minute),
			description: "Time limit for one attempt of a call.",
		},
		{
			name: "ca_cert_file", env: "BK_CA_CERT_FILE", field: "CACert", kind: newText(&s.caCertFile, ""),
			description: "File with PEM certificates to trust in addition to the system's.",
		},
		{
			name: "insecure_skip_verify", env: "BK_INSECURE_SKIP_VERIFY", kind: newSwitch(&s.API.InsecureSkipVerify),
			description: "Do not verify the platform's certificate. Anyone between this machine and the platform can then read the secret.",
		},
	}
}

// objects has the descriptions of settings that contain others.
var objects = map[string]string{
	"hosted_specs":           "How a script reads [what agents host](data-sources/hosted_specs.md), where that is asked for.",
	"hosted_specs.job_scope": "Scope of the hosts, for JOB.",
}

// attributesOf returns the attributes of the settings whose names begin with object.
func attributesOf(declared []setting, object string) map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute)
	for _, d := range declared {
		rest, found := strings.CutPrefix(d.name, object)
		if !found {
			continue
		}
		name, _, nested := strings.Cut(rest, ".")
		if !nested {
			attributes[name] = d.kind.attribute(d)
		} else if attributes[name] == nil {
			attributes[name] = schema.SingleNestedAttribute{
				MarkdownDescription: objects[object+name], Optional: true, Attributes: attributesOf(declared, object+name+"."),
			}
		}
	}
	return attributes
}

// valueOf returns the value of a setting in the block. If an object on the way is null or unknown, it returns
// that.
func (d setting) valueOf(block types.Object) attr.Value {
	for rest := d.name; ; {
		name, more, nested := strings.Cut(rest, ".")
		value := block.Attributes()[name]
		object, ok := value.(types.Object)
		if !nested || !ok || object.IsNull() || object.IsUnknown() {
			return value
		}
		block, rest = object, more
	}
}

// pathOf returns the path of a setting.
func pathOf(name string) path.Path {
	names := strings.Split(name, ".")
	at := path.Root(names[0])
	for _, name := range names[1:] {
		at = at.AtName(name)
	}
	return at
}

// markdown returns the description, with what the other fields add.
func (d setting) markdown() string {
	text := d.description
	if d.required {
		text += " Required, here or in the environment."
	}
	if note := d.kind.note(); note != "" {
		text += " " + note
	}
	if d.env != "" {
		text += " Environment: `" + d.env + "`."
	}
	return text
}
