package providertest

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/provider"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Protocol calls the provider as Terraform does. It needs no CLI, and supports features for which the
// installed CLI may be too old.
type Protocol struct {
	T      testing.TB
	Server *provider.Server
	// Over is set when an action has reported its end.
	Over   atomic.Bool
	Schema *tfprotov6.GetProviderSchemaResponse
	// Until, if not nil, is the context of calls in place of the test's own.
	Until context.Context
}

// Context returns the context of calls to the provider.
func (p *Protocol) Context() context.Context {
	if p.Until != nil {
		return p.Until
	}
	return p.T.Context()
}

// NotKnown is an unknown value in a configuration.
type NotKnown struct{}

// NewProtocol serves a provider that is not configured yet. Its clock does not advance, and actions
// report every change.
func NewProtocol(tb testing.TB) *Protocol {
	tb.Helper()
	return newProtocol(tb, nil)
}

func newProtocol(tb testing.TB, clock poll.Clock) *Protocol {
	tb.Helper()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	server := provider.NewServer(provider.Options{
		Version: "test",
		Backoff: poll.Backoff{First: time.Millisecond, Max: 5 * time.Millisecond, Factor: 1.5},
		Pace:    platform.Pace{Now: func() time.Time { return began }, MaxInterval: time.Hour},
		Clock:   clock,
	})
	schema, err := servedSchema(tb.Context())
	p := &Protocol{T: tb, Server: server, Schema: schema}
	p.Fine(err, schema.Diagnostics)
	return p
}

// served caches the schema, because requesting it takes longer than most tests.
var served struct {
	once   sync.Once
	schema *tfprotov6.GetProviderSchemaResponse
	err    error
}

func servedSchema(ctx context.Context) (*tfprotov6.GetProviderSchemaResponse, error) {
	served.once.Do(func() {
		server := provider.NewServer(provider.DefaultOptions("test"))
		served.schema, served.err = server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	})
	return served.schema, served.err
}

// Configured serves a provider for the simulator; more holds further settings.
func (s *Sim) Configured(tb testing.TB, more ...map[string]any) *Protocol {
	tb.Helper()
	settings := s.Settings()
	for _, m := range more {
		maps.Copy(settings, m)
	}
	return ConfiguredWith(tb, settings)
}

// ConfiguredWith serves a provider with a provider block.
func ConfiguredWith(tb testing.TB, settings map[string]any) *Protocol {
	tb.Helper()
	return configured(tb, NewProtocol(tb), settings)
}

func configured(tb testing.TB, p *Protocol, settings map[string]any) *Protocol {
	tb.Helper()
	resp, err := p.Server.ConfigureProvider(tb.Context(), &tfprotov6.ConfigureProviderRequest{
		Config: p.Dynamic(p.Schema.Provider, settings),
	})
	p.Fine(err, resp.Diagnostics)
	return p
}

// Settings returns a provider block for the simulator, for Protocol.
func (s *Sim) Settings() map[string]any {
	return map[string]any{
		"endpoint": s.URL, "cmdb_endpoint": s.CMDBEndpoint(), "app_code": simulator.DefaultAppCode, "app_secret": simulator.DefaultAppSecret, "username": "admin",
		"gateway": string(Gateway), "retry_wait_min": "1ms", "retry_wait_max": "5ms",
	}
}

// Fine fails the test if there is an error or any diagnostic.
func (p *Protocol) Fine(err error, diags []*tfprotov6.Diagnostic) {
	p.T.Helper()
	NoError(p.T, err)
	if text := DiagnosticsText(diags); text != "" {
		p.T.Fatal(text)
	}
}

// Dynamic encodes a configuration. Attributes that it does not name are null.
func (p *Protocol) Dynamic(schema *tfprotov6.Schema, config map[string]any) *tfprotov6.DynamicValue {
	p.T.Helper()
	value, err := tfprotov6.NewDynamicValue(schema.ValueType(), ValueOf(schema.ValueType(), config))
	NoError(p.T, err)
	return &value
}

// ValueOf converts a Go value to a Terraform value of a type: nil to null, NotKnown to unknown. It panics if
// the value does not fit the type.
func ValueOf(typ tftypes.Type, v any) tftypes.Value {
	switch v := v.(type) {
	case nil:
		return tftypes.NewValue(typ, nil)
	case NotKnown:
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	case string, bool:
		return tftypes.NewValue(typ, v)
	case int:
		if typ.Is(tftypes.String) { // as Terraform converts a number
			return tftypes.NewValue(typ, strconv.Itoa(v))
		}
		return tftypes.NewValue(typ, big.NewFloat(float64(v)))
	case float64:
		return tftypes.NewValue(typ, big.NewFloat(v))
	case []any:
		list, ok := typ.(tftypes.List)
		if !ok {
			panic(fmt.Sprintf("%v takes no list", typ))
		}
		elements := make([]tftypes.Value, len(v))
		for i, element := range v {
			elements[i] = ValueOf(list.ElementType, element)
		}
		return tftypes.NewValue(typ, elements)
	case []string:
		elements := make([]tftypes.Value, len(v))
		for i, element := range v {
			elements[i] = tftypes.NewValue(tftypes.String, element)
		}
		return tftypes.NewValue(typ, elements)
	case map[string]string:
		elements := make(map[string]tftypes.Value, len(v))
		for key, element := range v {
			elements[key] = tftypes.NewValue(tftypes.String, element)
		}
		return tftypes.NewValue(typ, elements)
	case map[string]any:
		members := make(map[string]tftypes.Value)
		switch typ := typ.(type) {
		case tftypes.Object:
			for name, attribute := range typ.AttributeTypes {
				members[name] = ValueOf(attribute, v[name])
			}
		case tftypes.Map:
			for key, element := range v {
				members[key] = ValueOf(typ.ElementType, element)
			}
		default:
			panic(fmt.Sprintf("%v takes no object", typ))
		}
		return tftypes.NewValue(typ, members)
	}
	panic(fmt.Sprintf("no value for %T", v))
}

// DiagnosticsText returns all diagnostics, as a terminal would show them without wrapping.
func DiagnosticsText(diags []*tfprotov6.Diagnostic) string {
	texts := make([]string, len(diags))
	for i, d := range diags {
		texts[i] = fmt.Sprintf("%s: %s\n\n%s", d.Severity, d.Summary, d.Detail)
	}
	return strings.Join(texts, "\n\n")
}

// Plain converts a Terraform value back to Go, for comparisons: null to nil, numbers to int, objects and maps
// to map[string]any.
func Plain(tb testing.TB, v tftypes.Value) any {
	tb.Helper()
	if v.IsNull() {
		return nil
	}
	as := func(target any) {
		tb.Helper()
		if err := v.As(target); err != nil {
			tb.Fatal(err)
		}
	}
	switch typ := v.Type(); {
	case typ.Is(tftypes.String):
		var text string
		as(&text)
		return text
	case typ.Is(tftypes.Number):
		var number big.Float
		as(&number)
		n, _ := number.Int64()
		return int(n)
	case typ.Is(tftypes.Bool):
		var truth bool
		as(&truth)
		return truth
	case typ.Is(tftypes.List{}):
		var elements []tftypes.Value
		as(&elements)
		list := make([]any, len(elements))
		for i, element := range elements {
			list[i] = Plain(tb, element)
		}
		return list
	}
	var elements map[string]tftypes.Value
	as(&elements)
	attributes := make(map[string]any, len(elements))
	for name, element := range elements {
		attributes[name] = Plain(tb, element)
	}
	return attributes
}

// Invoke runs an action and returns its progress messages, and its diagnostics at the end.
func (p *Protocol) Invoke(ctx context.Context, name string, config map[string]any) (progress []string, end string) {
	p.T.Helper()
	stream, err := p.Server.InvokeAction(ctx, &tfprotov6.InvokeActionRequest{
		ActionType: name, Config: p.Dynamic(p.Schema.ActionSchemas[name].Schema, config),
	})
	NoError(p.T, err)
	for event := range stream.Events {
		switch event := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, event.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			end = DiagnosticsText(event.Diagnostics)
			p.Over.Store(true)
		}
	}
	return progress, end
}

// ValidateAction returns what the provider reports about the configuration of an action.
func (p *Protocol) ValidateAction(name string, config map[string]any) string {
	p.T.Helper()
	resp, err := p.Server.ValidateActionConfig(p.T.Context(), &tfprotov6.ValidateActionConfigRequest{
		ActionType: name, Config: p.Dynamic(p.Schema.ActionSchemas[name].Schema, config),
	})
	NoError(p.T, err)
	return DiagnosticsText(resp.Diagnostics)
}

// PlanAction returns what the provider reports when an action is planned.
func (p *Protocol) PlanAction(name string, config map[string]any) string {
	p.T.Helper()
	resp, err := p.Server.PlanAction(p.T.Context(), &tfprotov6.PlanActionRequest{
		ActionType: name, Config: p.Dynamic(p.Schema.ActionSchemas[name].Schema, config),
	})
	NoError(p.T, err)
	return DiagnosticsText(resp.Diagnostics)
}

// Listed is one result of a list. Identity and Resource are as Plain returns them, nil if the result has none.
type Listed struct {
	Name     string
	Identity any
	Resource any
}

// List lists bk_hosted_process. It returns the results, and as text the diagnostics in place of others.
func (p *Protocol) List(request tfprotov6.ListResourceRequest, config map[string]any) (results []Listed, said string) {
	p.T.Helper()
	request.TypeName, request.Config = HostedType, p.Dynamic(p.Schema.ListResourceSchemas[HostedType], config)
	stream, err := p.Server.ListResource(p.T.Context(), &request)
	NoError(p.T, err)
	identities, err := p.Server.GetResourceIdentitySchemas(p.T.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	NoError(p.T, err)
	for result := range stream.Results {
		if text := DiagnosticsText(result.Diagnostics); text != "" {
			said += text
			continue
		}
		one := Listed{Name: result.DisplayName}
		if result.Identity != nil {
			one.Identity = p.Read(result.Identity.IdentityData, identities.IdentitySchemas[HostedType].ValueType())
		}
		if result.Resource != nil {
			one.Resource = p.Read(result.Resource, p.Schema.ResourceSchemas[HostedType].ValueType())
		}
		results = append(results, one)
	}
	return results, said
}

// Read decodes a value and converts it as Plain does.
func (p *Protocol) Read(raw *tfprotov6.DynamicValue, typ tftypes.Type) any {
	p.T.Helper()
	value, err := raw.Unmarshal(typ)
	NoError(p.T, err)
	return Plain(p.T, value)
}

// Call runs a function and returns its result, or the text of its error.
func (p *Protocol) Call(name string, arguments ...any) (result any, fault string) {
	p.T.Helper()
	signature := p.Schema.Functions[name]
	request := &tfprotov6.CallFunctionRequest{Name: name}
	for i, argument := range arguments {
		typ := signature.Parameters[i].Type
		value, err := tfprotov6.NewDynamicValue(typ, ValueOf(typ, argument))
		NoError(p.T, err)
		request.Arguments = append(request.Arguments, &value)
	}
	resp, err := p.Server.CallFunction(p.T.Context(), request)
	NoError(p.T, err)
	if resp.Error != nil {
		return nil, resp.Error.Text
	}
	return p.Read(resp.Result, signature.Return.Type), ""
}
