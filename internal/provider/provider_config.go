package provider

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// Environment variables. Configuration wins over them.
const (
	envEndpoint    = "BK_ENDPOINT"
	envGateway     = "BK_GATEWAY"
	envJobEndpoint = "BK_JOB_ENDPOINT"
	envJobAPI      = "BK_JOB_API"
	envAppCode     = "BK_APP_CODE"
	envAppSecret   = "BK_APP_SECRET"
	envUsername    = "BK_USERNAME"
	envToken       = "BK_TOKEN"
	envAccessToken = "BK_ACCESS_TOKEN"
	envTenantID    = "BK_TENANT_ID"
	envSupplierID  = "BK_SUPPLIER_ID"
	envCACertFile  = "BK_CA_CERT_FILE"
	envInsecure    = "BK_INSECURE_SKIP_VERIFY"
)

const (
	defaultFingerprintLabel = "tf_spec"
	defaultMaxConcurrent    = 8
	defaultMaxRetries       = 4
	defaultRetryWaitMin     = time.Second
	defaultRetryWaitMax     = 30 * time.Second
	defaultRequestTimeout   = 60 * time.Second
	minWait                 = time.Millisecond
)

type providerModel struct {
	Endpoint              types.String  `tfsdk:"endpoint"`
	Gateway               types.String  `tfsdk:"gateway"`
	JobEndpoint           types.String  `tfsdk:"job_endpoint"`
	JobAPI                types.String  `tfsdk:"job_api"`
	AppCode               types.String  `tfsdk:"app_code"`
	AppSecret             types.String  `tfsdk:"app_secret"`
	Username              types.String  `tfsdk:"username"`
	Token                 types.String  `tfsdk:"token"`
	AccessToken           types.String  `tfsdk:"access_token"`
	TenantID              types.String  `tfsdk:"tenant_id"`
	SupplierID            types.Int64   `tfsdk:"bk_supplier_id"`
	DefaultLabels         types.Map     `tfsdk:"default_labels"`
	SpecFingerprintLabel  types.String  `tfsdk:"spec_fingerprint_label"`
	MaxHostsPerRequest    types.Int64   `tfsdk:"max_hosts_per_request"`
	MaxConcurrentRequests types.Int64   `tfsdk:"max_concurrent_requests"`
	RequestsPerSecond     types.Float64 `tfsdk:"requests_per_second"`
	MaxRetries            types.Int64   `tfsdk:"max_retries"`
	RetryWaitMin          types.String  `tfsdk:"retry_wait_min"`
	RetryWaitMax          types.String  `tfsdk:"retry_wait_max"`
	RequestTimeout        types.String  `tfsdk:"request_timeout"`
	CACertFile            types.String  `tfsdk:"ca_cert_file"`
	InsecureSkipVerify    types.Bool    `tfsdk:"insecure_skip_verify"`
}

// Format writes the settings without the secrets among them, whatever the verb: in a
// panic, if nowhere else, they are printed some day.
func (m providerModel) Format(state fmt.State, verb rune) {
	type formatted providerModel // has no methods, or this would never end
	for _, secret := range []*types.String{&m.AppSecret, &m.Token, &m.AccessToken} {
		if secret.ValueString() != "" {
			*secret = types.StringValue("***")
		}
	}
	_, _ = fmt.Fprintf(state, fmt.FormatString(state, verb), formatted(m))
}

// unknowns are the names of attributes whose value another resource has yet to
// give.
func (m providerModel) unknowns(ctx context.Context) []string {
	values := map[string]attr.Value{
		"endpoint": m.Endpoint, "gateway": m.Gateway, "job_endpoint": m.JobEndpoint, "job_api": m.JobAPI,
		"app_code": m.AppCode, "app_secret": m.AppSecret, "username": m.Username, "token": m.Token,
		"access_token": m.AccessToken, "tenant_id": m.TenantID, "bk_supplier_id": m.SupplierID,
		"default_labels": m.DefaultLabels, "spec_fingerprint_label": m.SpecFingerprintLabel,
		"max_hosts_per_request": m.MaxHostsPerRequest, "max_concurrent_requests": m.MaxConcurrentRequests,
		"requests_per_second": m.RequestsPerSecond, "max_retries": m.MaxRetries, "retry_wait_min": m.RetryWaitMin,
		"retry_wait_max": m.RetryWaitMax, "request_timeout": m.RequestTimeout, "ca_cert_file": m.CACertFile,
		"insecure_skip_verify": m.InsecureSkipVerify,
	}
	var names []string
	for _, name := range sortedKeys(values) {
		if !known(ctx, values[name]) {
			names = append(names, name)
		}
	}
	return names
}

// connect makes the platform out of configuration and environment. It sends
// nothing: a wrong secret shows when a call is made.
func (p *bkProvider) connect(ctx context.Context, m providerModel, terraformVersion string) (*platform, diag.Diagnostics) {
	var diags diag.Diagnostics
	if unknown := m.unknowns(ctx); len(unknown) > 0 {
		return &platform{unknown: unknown}, diags
	}
	config := bkapi.Config{
		Endpoint:           strings.TrimRight(setting(m.Endpoint, envEndpoint), "/"),
		Gateway:            bkapi.Gateway(cmp.Or(setting(m.Gateway, envGateway), string(bkapi.ESB))),
		AppCode:            setting(m.AppCode, envAppCode),
		AppSecret:          setting(m.AppSecret, envAppSecret),
		TenantID:           setting(m.TenantID, envTenantID),
		UserAgent:          userAgent(p.version, terraformVersion),
		MaxRetries:         int(orDefault(m.MaxRetries, defaultMaxRetries)),
		RetryWaitMin:       orDuration(m.RetryWaitMin, defaultRetryWaitMin),
		RetryWaitMax:       orDuration(m.RetryWaitMax, defaultRetryWaitMax),
		RequestTimeout:     orDuration(m.RequestTimeout, defaultRequestTimeout),
		Limits:             bkapi.NewLimits(int(orDefault(m.MaxConcurrentRequests, defaultMaxConcurrent)), m.RequestsPerSecond.ValueFloat64()),
		InsecureSkipVerify: m.InsecureSkipVerify.ValueBool(),
		Logger:             newLogger(),
	}
	if config.Endpoint == "" {
		addMissing(&diags, "endpoint", envEndpoint)
	}
	checkEndpoint(&diags, "endpoint", config.Endpoint)
	checkEndpoint(&diags, "job_endpoint", setting(m.JobEndpoint, envJobEndpoint))
	if m.Gateway.IsNull() && config.Gateway != bkapi.ESB && config.Gateway != bkapi.APIGW {
		diags.AddAttributeError(path.Root("gateway"), summaryInvalidProvider,
			fmt.Sprintf("%s is %q. %s", envGateway, config.Gateway, oneOf(bkapi.Gateways())))
	}
	for name, value := range map[string]string{"app_code": config.AppCode, "app_secret": config.AppSecret} {
		if value == "" {
			addMissing(&diags, name, "BK_"+strings.ToUpper(name))
		}
	}
	diags.Append(m.identify(&config)...)
	supplier, err := supplierID(m.SupplierID)
	if err != nil {
		diags.AddAttributeError(path.Root("bk_supplier_id"), summaryInvalidProvider, sentence(err.Error()))
	}
	if file := setting(m.CACertFile, envCACertFile); file != "" {
		if config.CACert, err = readCertificates(file); err != nil {
			diags.AddAttributeError(path.Root("ca_cert_file"), summaryInvalidProvider, sentence(err.Error()))
		}
	}
	if m.InsecureSkipVerify.IsNull() && os.Getenv(envInsecure) != "" {
		if config.InsecureSkipVerify, err = strconv.ParseBool(os.Getenv(envInsecure)); err != nil {
			diags.AddAttributeError(path.Root("insecure_skip_verify"), summaryInvalidProvider,
				fmt.Sprintf("%s is %q; it takes true or false.", envInsecure, os.Getenv(envInsecure)))
		}
	}
	if diags.HasError() {
		return nil, diags
	}
	if m.RetryWaitMax.IsNull() {
		config.RetryWaitMax = max(config.RetryWaitMax, config.RetryWaitMin)
	}
	client, err := bkapi.New(config)
	if err != nil {
		diags.Append(configError(err))
		return nil, diags
	}
	if config.InsecureSkipVerify {
		diags.AddAttributeWarning(path.Root("insecure_skip_verify"), "Certificate Not Verified",
			"The platform's certificate is not verified, so whoever is on the way to "+config.Endpoint+" can read and change everything, "+
				"app_secret included. Set ca_cert_file to the certificate of your authority instead.")
	}
	warnPlainHTTP(&diags, "endpoint", config.Endpoint)
	warnPlainHTTP(&diags, "job_endpoint", setting(m.JobEndpoint, envJobEndpoint))
	fingerprintLabel := defaultFingerprintLabel
	if !m.SpecFingerprintLabel.IsNull() {
		fingerprintLabel = m.SpecFingerprintLabel.ValueString()
	}
	defaultLabels := stringMap(m.DefaultLabels)
	if _, taken := defaultLabels[fingerprintLabel]; taken {
		addInvalid(&diags, path.Root("default_labels").AtMapKey(fingerprintLabel), "Invalid Label",
			"the provider writes the fingerprint of the spec into this label; use another, or set spec_fingerprint_label to one that is free")
		return nil, diags
	}
	jobClient, err := p.connectJob(m, config)
	if err != nil {
		diags.AddAttributeError(path.Root("job_endpoint"), summaryInvalidProvider, sentence(err.Error()))
		return nil, diags
	}
	return &platform{
		job: jobClient,
		gse: gse.NewClient(client, config.Gateway, procapi.Options{
			MaxHosts: int(m.MaxHostsPerRequest.ValueInt64()),
			Backoff:  p.backoff,
			Logger:   config.Logger,
		}),
		pace:             p.pace,
		gateway:          config.Gateway,
		supplier:         supplier,
		defaultLabels:    defaultLabels,
		fingerprintLabel: fingerprintLabel,
	}, diags
}

// readCertificates wants at least one certificate: an empty file would be as good as
// none, and whoever names a file means to trust what is in it.
func readCertificates(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate that can be read; it takes certificates in PEM form, which begin with -----BEGIN CERTIFICATE-----", file)
	}
	return text, nil
}

// connectJob gives nil where no ESB is known: JOB's process APIs are nowhere else.
func (p *bkProvider) connectJob(m providerModel, config bkapi.Config) (*job.Client, error) {
	endpoint := strings.TrimRight(setting(m.JobEndpoint, envJobEndpoint), "/")
	if endpoint == "" && config.Gateway != bkapi.ESB {
		return nil, nil
	}
	api := job.API(cmp.Or(setting(m.JobAPI, envJobAPI), string(job.V3)))
	if !slices.Contains(job.APIs(), api) {
		return nil, fmt.Errorf("%s is %q. %s", envJobAPI, api, oneOf(job.APIs()))
	}
	config.Endpoint, config.Gateway = cmp.Or(endpoint, config.Endpoint), bkapi.ESB
	client, err := bkapi.New(config)
	if field := (*bkapi.ConfigError)(nil); errors.As(err, &field) && field.Field == "Endpoint" {
		return nil, errors.New("attribute job_endpoint: " + field.Reason)
	}
	if err != nil {
		return nil, err
	}
	return job.NewClient(client, job.Options{
		API:      api,
		MaxHosts: int(m.MaxHostsPerRequest.ValueInt64()),
		Backoff:  p.backoff,
		Logger:   config.Logger,
	}), nil
}

// identify finds the one user identity. What the configuration names wins over
// the environment as a whole, so that a token left in the environment does not
// clash with a configured user.
func (m providerModel) identify(config *bkapi.Config) diag.Diagnostics {
	var (
		diags     diag.Diagnostics
		fields    = []*string{&config.Username, &config.Token, &config.AccessToken}
		values    = []string{m.Username.ValueString(), m.Token.ValueString(), m.AccessToken.ValueString()}
		variables = []string{envUsername, envToken, envAccessToken}
		names     = []string{"username", "token", "access_token"}
	)
	if strings.Join(values, "") == "" {
		for i, variable := range variables {
			values[i] = os.Getenv(variable)
		}
		names = variables
	}
	var set []string
	for i, value := range values {
		*fields[i] = value
		if value != "" {
			set = append(set, names[i])
		}
	}
	switch len(set) {
	case 1:
	case 0:
		diags.AddAttributeError(path.Root("username"), "Missing Provider Setting",
			"Nobody is named on whose behalf the platform is called. Set one of username, token and access_token, or one of the "+
				"environment variables "+strings.Join(variables, ", ")+".")
	default:
		diags.AddAttributeError(path.Root("username"), summaryInvalidProvider,
			"More than one user identity is set: "+strings.Join(set, ", ")+". Set exactly one.")
	}
	return diags
}

func checkEndpoint(diags *diag.Diagnostics, name, endpoint string) {
	if endpoint == "" {
		return
	}
	u, err := url.Parse(endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		diags.AddAttributeError(path.Root(name), summaryInvalidProvider,
			quotedURL(endpoint)+" is not an absolute http or https URL such as https://paas.example.com.")
	}
}

// quotedURL is a URL of the user's for a message: one that cannot be used may have a
// password in it.
func quotedURL(endpoint string) string {
	if strings.Contains(endpoint, "@") {
		return "The URL"
	}
	return strconv.Quote(endpoint)
}

func warnPlainHTTP(diags *diag.Diagnostics, name, endpoint string) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" || u.User != nil || isLoopback(u.Hostname()) {
		return
	}
	diags.AddAttributeWarning(path.Root(name), "Credentials Sent In The Clear",
		"The "+name+" "+endpoint+" is not encrypted, so app_secret can be read on the way. Use https.")
}

func addMissing(diags *diag.Diagnostics, name, env string) {
	diags.AddAttributeError(path.Root(name), "Missing Provider Setting",
		fmt.Sprintf("%s is not set. Set it in the provider block, or set the environment variable %s.", name, env))
}

func setting(value types.String, env string) string {
	if !value.IsNull() {
		return value.ValueString()
	}
	return os.Getenv(env)
}

func supplierID(value types.Int64) (int, error) {
	text := os.Getenv(envSupplierID)
	if !value.IsNull() || text == "" {
		return int(value.ValueInt64()), nil
	}
	id, err := strconv.Atoi(text)
	if err != nil || id < 0 {
		return 0, fmt.Errorf("%s is %q; it takes a whole number from 0", envSupplierID, text)
	}
	return id, nil
}

func orDefault(value types.Int64, fallback int64) int64 {
	if value.IsNull() {
		return fallback
	}
	return value.ValueInt64()
}

// orDuration reads a duration that a validator has checked.
func orDuration(value types.String, fallback time.Duration) time.Duration {
	if d, err := time.ParseDuration(value.ValueString()); err == nil {
		return d
	}
	return fallback
}

// userAgent follows the form of the other providers. The version that OpenTofu
// reports here is that of the Terraform it stands in for.
func userAgent(version, terraformVersion string) string {
	agent := fmt.Sprintf("Terraform/%s (+https://www.terraform.io) terraform-provider-bk/%s", terraformVersion, version)
	if more := strings.TrimSpace(os.Getenv("TF_APPEND_USER_AGENT")); more != "" {
		agent += " " + more
	}
	return agent
}
