package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

var (
	_ provider.Provider                  = (*bkProvider)(nil)
	_ provider.ProviderWithActions       = (*bkProvider)(nil)
	_ provider.ProviderWithFunctions     = (*bkProvider)(nil)
	_ provider.ProviderWithListResources = (*bkProvider)(nil)
)

// New is the provider of the given version.
func New(version string) func() provider.Provider {
	return newProvider(version, poll.DefaultBackoff())
}

// newProvider lets tests wait in other steps than users do.
func newProvider(version string, backoff poll.Backoff) func() provider.Provider {
	return func() provider.Provider { return &bkProvider{version: version, backoff: backoff, pace: defaultPace} }
}

type bkProvider struct {
	version string
	backoff poll.Backoff
	pace    pace
}

func (p *bkProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "bk"
	resp.Version = p.version
}

func (p *bkProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	duration := func(description string, fallback fmt.Stringer) schema.StringAttribute {
		return schema.StringAttribute{
			MarkdownDescription: fmt.Sprintf("%s A duration such as `\"30s\"`. Defaults to `%s`.", description, fallback),
			Optional:            true,
			Validators:          []validator.String{durationValidator{min: minWait}},
		}
	}
	text := func(description, env string) schema.StringAttribute {
		return schema.StringAttribute{
			MarkdownDescription: description + " Environment variable `" + env + "`.",
			Optional:            true,
		}
	}
	secret := func(description, env string) schema.StringAttribute {
		attribute := text(description, env)
		attribute.Sensitive = true
		return attribute
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Hosts processes through BlueKing's GSE agent: registers them, operates them and reads their status.",
		Attributes: map[string]schema.Attribute{
			"endpoint": text("Base URL of the ESB (`https://paas.example.com`), or with `gateway = \"apigw\"` of the gateway's stage "+
				"(`https://bkapi.example.com/api/bk-gse/prod`). Required, here or in the environment.", envEndpoint),
			"gateway": schema.StringAttribute{
				MarkdownDescription: "Which way into the platform `endpoint` is. " + oneOf(bkapi.Gateways()) + " Defaults to `" + string(bkapi.ESB) +
					"`. Environment variable `" + envGateway + "`.",
				Optional:   true,
				Validators: []validator.String{stringvalidator.OneOf(asStrings(bkapi.Gateways())...)},
			},
			"job_endpoint": text("Base URL of the ESB for the `bk_job_*` objects. Defaults to `endpoint` where that is an ESB.", envJobEndpoint),
			"job_api": schema.StringAttribute{
				MarkdownDescription: "Generation of JOB, which is a part of its URL. " + oneOf(job.APIs()) + " Defaults to `" + string(job.V3) +
					"`. Environment variable `" + envJobAPI + "`.",
				Optional:   true,
				Validators: []validator.String{stringvalidator.OneOf(asStrings(job.APIs())...)},
			},
			"app_code":   text("Id of the BlueKing application that calls the APIs. Required, here or in the environment.", envAppCode),
			"app_secret": secret("Secret of that application. Required, here or in the environment.", envAppSecret),
			"username": text("User on whose behalf calls are made; the application must be on the list of those that need no login. "+
				"One of `username`, `token` and `access_token` is required.", envUsername),
			"token":        secret("Login token of a user (the cookie `bk_token`), instead of `username`.", envToken),
			"access_token": secret("Access token, instead of `username`.", envAccessToken),
			"tenant_id":    text("Tenant, sent as `X-Bk-Tenant-Id`. For platforms with several tenants.", envTenantID),
			"bk_supplier_id": schema.Int64Attribute{
				MarkdownDescription: "Supplier id of hosts whose address names none. Defaults to `0`. Environment variable `" + envSupplierID + "`.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(0)},
			},
			"default_labels": schema.MapAttribute{
				MarkdownDescription: "Labels that are merged under the `meta.labels` of every registration; the resource's own label wins. " +
					"Changing them re-registers.",
				Optional:    true,
				ElementType: types.StringType,
			},
			"spec_fingerprint_label": schema.StringAttribute{
				MarkdownDescription: "Label that carries a fingerprint of the declared spec and labels. By it the provider sees that somebody " +
					"registered a host with another spec, which no API returns. `\"\"` turns it off. Defaults to `" + defaultFingerprintLabel + "`.",
				Optional: true,
			},
			"max_hosts_per_request": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("Most hosts in one request; what is more is split. Defaults to `%d`.", procapi.DefaultMaxHosts),
				Optional:            true,
				Validators:          []validator.Int64{int64validator.Between(1, 10000)},
			},
			"max_concurrent_requests": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("Most requests at once, over all resources of this provider. Defaults to `%d`.", defaultMaxConcurrent),
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"requests_per_second": schema.Float64Attribute{
				MarkdownDescription: "Most requests a second, over all resources of this provider. Not limited by default.",
				Optional:            true,
				Validators:          []validator.Float64{rateValidator()},
			},
			"max_retries": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("How often a call is repeated after a fault that may pass: no connection, HTTP 408, 429, 500, 502, 503 or 504, "+
					"the ESB's own codes for these, or a lost answer. An operation is repeated only where nothing was sent or the platform turned it away. Defaults to `%d`.", defaultMaxRetries),
				Optional:   true,
				Validators: []validator.Int64{int64validator.Between(0, 100)},
			},
			"retry_wait_min":  duration("Shortest wait before a call is repeated.", defaultRetryWaitMin),
			"retry_wait_max":  duration("Longest wait before a call is repeated, unless the platform asks for more.", defaultRetryWaitMax),
			"request_timeout": duration("Time for one try of a call.", defaultRequestTimeout),
			"ca_cert_file":    text("File with PEM certificates that are trusted besides the system's.", envCACertFile),
			"insecure_skip_verify": schema.BoolAttribute{
				MarkdownDescription: "Do not verify the platform's certificate. Whoever is on the way can then read the secret. Defaults to `false`. " +
					"Environment variable `" + envInsecure + "`.",
				Optional: true,
			},
		},
	}
}

func (p *bkProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var config providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	platform, diags := p.connect(ctx, config, req.TerraformVersion)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if len(platform.unknown) > 0 && req.ClientCapabilities.DeferralAllowed {
		// Where the client can, all that needs the platform waits for the next apply.
		resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
	}
	resp.ResourceData = platform
	resp.DataSourceData = platform
	resp.ActionData = platform
	resp.ListResourceData = platform
}

func (p *bkProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		newHostedProcessResource,
		newProcessOperationResource,
		newJobHostedProcessResource,
		newJobProcessOperationResource,
	}
}

func (p *bkProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		newProcessStatusDataSource,
		newJobProcessStatusDataSource,
	}
}

func (p *bkProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{
		newProcessOperationAction,
		newJobProcessOperationAction,
	}
}

func (p *bkProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{
		newHostedProcessListResource,
	}
}

func (p *bkProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		newExpandFunction,
		newHostFunction,
		newHostsFunction,
		newParseHostFunction,
	}
}
