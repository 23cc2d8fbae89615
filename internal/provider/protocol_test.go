package provider

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// protocol speaks to the provider as Terraform does, for what the Terraform at
// hand may be too old to ask for.
type protocol struct {
	t      testing.TB
	server *Server
	// over is set when an action has told how it ended.
	over   atomic.Bool
	schema *tfprotov6.GetProviderSchemaResponse
	// until is what its calls are made with, if not the test's own context.
	until context.Context
}

func (p *protocol) context() context.Context {
	if p.until != nil {
		return p.until
	}
	return p.t.Context()
}

// notKnown stands for a value that a plan does not know yet.
type notKnown struct{}

// newProtocol serves a provider whose clock stands still and that tells every
// change.
func newProtocol(tb testing.TB) *protocol {
	tb.Helper()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	server := NewServer(Options{
		Version: "test",
		Backoff: poll.Backoff{First: time.Millisecond, Max: 5 * time.Millisecond, Factor: 1.5},
		Pace:    platform.Pace{Now: func() time.Time { return began }, MaxInterval: time.Hour},
	})
	schema, err := servedSchema()
	p := &protocol{t: tb, server: server, schema: schema}
	p.fine(err, schema.Diagnostics)
	return p
}

// servedSchema is asked for once: it takes longer than most tests.
var servedSchema = sync.OnceValues(func() (*tfprotov6.GetProviderSchemaResponse, error) {
	return NewServer(DefaultOptions("test")).GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
})

// configured also points it at a simulator; more holds further settings.
func (s *testSim) configured(tb testing.TB, more ...map[string]any) *protocol {
	tb.Helper()
	settings := s.settings()
	for _, m := range more {
		maps.Copy(settings, m)
	}
	return configuredWith(tb, settings)
}

// configuredWith gives it a provider block.
func configuredWith(tb testing.TB, settings map[string]any) *protocol {
	tb.Helper()
	p := newProtocol(tb)
	resp, err := p.server.ConfigureProvider(tb.Context(), &tfprotov6.ConfigureProviderRequest{
		Config: p.dynamic(p.schema.Provider, settings),
	})
	p.fine(err, resp.Diagnostics)
	return p
}

func (s *testSim) settings() map[string]any {
	return map[string]any{
		"endpoint": s.url, "app_code": simulator.DefaultAppCode, "app_secret": simulator.DefaultAppSecret, "username": "admin",
		"gateway": string(testGateway), "retry_wait_min": "1ms", "retry_wait_max": "5ms",
	}
}

// fine fails the test on an error.
func (p *protocol) fine(err error, diags []*tfprotov6.Diagnostic) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	if text := diagnosticsText(diags); text != "" {
		p.t.Fatal(text)
	}
}

// dynamic writes a configuration. Attributes that it does not name are null.
func (p *protocol) dynamic(schema *tfprotov6.Schema, config map[string]any) *tfprotov6.DynamicValue {
	p.t.Helper()
	value, err := tfprotov6.NewDynamicValue(schema.ValueType(), valueOf(schema.ValueType(), config))
	if err != nil {
		p.t.Fatal(err)
	}
	return &value
}

func valueOf(typ tftypes.Type, v any) tftypes.Value {
	switch v := v.(type) {
	case nil:
		return tftypes.NewValue(typ, nil)
	case notKnown:
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	case string, bool:
		return tftypes.NewValue(typ, v)
	case int:
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
			elements[i] = valueOf(list.ElementType, element)
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
		object, ok := typ.(tftypes.Object)
		if !ok {
			panic(fmt.Sprintf("%v takes no object", typ))
		}
		attributes := make(map[string]tftypes.Value)
		for name, attribute := range object.AttributeTypes {
			attributes[name] = valueOf(attribute, v[name])
		}
		return tftypes.NewValue(typ, attributes)
	}
	panic(fmt.Sprintf("no value for %T", v))
}

// diagnosticsText is everything that the provider said, as a terminal would have
// it without wrapping.
func diagnosticsText(diags []*tfprotov6.Diagnostic) string {
	texts := make([]string, len(diags))
	for i, d := range diags {
		texts[i] = fmt.Sprintf("%s: %s\n\n%s", d.Severity, d.Summary, d.Detail)
	}
	return strings.Join(texts, "\n\n")
}

// plain is a value as Go has it, for a comparison: nil where it is null.
func plain(tb testing.TB, v tftypes.Value) any {
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
			list[i] = plain(tb, element)
		}
		return list
	}
	var elements map[string]tftypes.Value
	as(&elements)
	attributes := make(map[string]any, len(elements))
	for name, element := range elements {
		attributes[name] = plain(tb, element)
	}
	return attributes
}

// invoke runs an action and gives what it told on the way and at its end.
func (p *protocol) invoke(ctx context.Context, name string, config map[string]any) (progress []string, end string) {
	p.t.Helper()
	stream, err := p.server.InvokeAction(ctx, &tfprotov6.InvokeActionRequest{
		ActionType: name, Config: p.dynamic(p.schema.ActionSchemas[name].Schema, config),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	for event := range stream.Events {
		switch event := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, event.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			end = diagnosticsText(event.Diagnostics)
			p.over.Store(true)
		}
	}
	return progress, end
}

// validateAction and planAction give what is said before anything runs.
func (p *protocol) validateAction(name string, config map[string]any) string {
	p.t.Helper()
	resp, err := p.server.ValidateActionConfig(p.t.Context(), &tfprotov6.ValidateActionConfigRequest{
		ActionType: name, Config: p.dynamic(p.schema.ActionSchemas[name].Schema, config),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return diagnosticsText(resp.Diagnostics)
}

func (p *protocol) planAction(name string, config map[string]any) string {
	p.t.Helper()
	resp, err := p.server.PlanAction(p.t.Context(), &tfprotov6.PlanActionRequest{
		ActionType: name, Config: p.dynamic(p.schema.ActionSchemas[name].Schema, config),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return diagnosticsText(resp.Diagnostics)
}

// listed is one result of a list.
type listed struct {
	Name     string
	Identity any
	Resource any
}

// list gives the hosted processes that are found, and what was said of them.
func (p *protocol) list(request tfprotov6.ListResourceRequest, config map[string]any) (results []listed, said string) {
	p.t.Helper()
	request.TypeName, request.Config = testList, p.dynamic(p.schema.ListResourceSchemas[testList], config)
	stream, err := p.server.ListResource(p.t.Context(), &request)
	if err != nil {
		p.t.Fatal(err)
	}
	identities, err := p.server.GetResourceIdentitySchemas(p.t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	for result := range stream.Results {
		if text := diagnosticsText(result.Diagnostics); text != "" {
			said += text
			continue
		}
		one := listed{Name: result.DisplayName}
		if result.Identity != nil {
			one.Identity = p.read(result.Identity.IdentityData, identities.IdentitySchemas[testList].ValueType())
		}
		if result.Resource != nil {
			one.Resource = p.read(result.Resource, p.schema.ResourceSchemas[testList].ValueType())
		}
		results = append(results, one)
	}
	return results, said
}

func (p *protocol) read(raw *tfprotov6.DynamicValue, typ tftypes.Type) any {
	p.t.Helper()
	value, err := raw.Unmarshal(typ)
	if err != nil {
		p.t.Fatal(err)
	}
	return plain(p.t, value)
}

// call runs a function.
func (p *protocol) call(name string, arguments ...any) (result any, fault string) {
	p.t.Helper()
	signature := p.schema.Functions[name]
	request := &tfprotov6.CallFunctionRequest{Name: name}
	for i, argument := range arguments {
		typ := signature.Parameters[i].Type
		value, err := tfprotov6.NewDynamicValue(typ, valueOf(typ, argument))
		if err != nil {
			p.t.Fatal(err)
		}
		request.Arguments = append(request.Arguments, &value)
	}
	resp, err := p.server.CallFunction(p.t.Context(), request)
	if err != nil {
		p.t.Fatal(err)
	}
	if resp.Error != nil {
		return nil, resp.Error.Text
	}
	return p.read(resp.Result, signature.Return.Type), ""
}
