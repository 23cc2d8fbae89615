package fold

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Framework is the part of the framework's server that this package uses.
type Framework interface {
	tfprotov6.ProviderServer
	tfprotov6.ActionServer
	tfprotov6.ListResourceServer
}

// Server is the framework's server for a provider with folded attributes.
type Server struct {
	Framework

	provider provider.Provider
	once     sync.Once
	found    folded
}

// NewServer returns a server for a provider.
func NewServer(p provider.Provider) *Server {
	serves := providerserver.NewProtocol6(p)()
	framework, ok := serves.(Framework)
	if !ok {
		panic(fmt.Sprintf("%T has no actions or no lists", serves)) // depends on the framework alone, so every test would fail
	}
	return &Server{Framework: framework, provider: p}
}

// folded returns the provider's folded attributes.
func (s *Server) folded(ctx context.Context) *folded {
	s.once.Do(func() { s.found = find(context.WithoutCancel(ctx), s.provider) })
	return &s.found
}

func (s *Server) resource(ctx context.Context, name string) *dynamicValues {
	found, err := s.folded(ctx).resources.of(name)
	return &dynamicValues{folded: found.current, err: err}
}

func (s *Server) dataSource(ctx context.Context, name string) *dynamicValues {
	found, err := s.folded(ctx).dataSources.of(name)
	return &dynamicValues{folded: found, err: err}
}

func (s *Server) action(ctx context.Context, name string) *dynamicValues {
	found, err := s.folded(ctx).actions.of(name)
	return &dynamicValues{folded: found, err: err}
}

// ValidateResourceConfig implements tfprotov6.ResourceServer.
func (s *Server) ValidateResourceConfig(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	d, in := s.resource(ctx, req.TypeName), *req
	in.Config = d.fold(req.Config)
	return call(ctx, d, s.Framework.ValidateResourceConfig, &in, nil)
}

// ReadResource implements tfprotov6.ResourceServer.
func (s *Server) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	d, in := s.resource(ctx, req.TypeName), *req
	in.CurrentState = d.fold(req.CurrentState)
	return call(ctx, d, s.Framework.ReadResource, &in, func(resp *tfprotov6.ReadResourceResponse) {
		resp.NewState = d.unfold(resp.NewState)
	})
}

// PlanResourceChange implements tfprotov6.ResourceServer.
func (s *Server) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	d, in := s.resource(ctx, req.TypeName), *req
	in.Config, in.PriorState, in.ProposedNewState = d.fold(req.Config), d.fold(req.PriorState), d.fold(req.ProposedNewState)
	return call(ctx, d, s.Framework.PlanResourceChange, &in, func(resp *tfprotov6.PlanResourceChangeResponse) {
		resp.PlannedState = d.unfold(resp.PlannedState)
	})
}

// ApplyResourceChange implements tfprotov6.ResourceServer.
func (s *Server) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	d, in := s.resource(ctx, req.TypeName), *req
	in.Config, in.PriorState, in.PlannedState = d.fold(req.Config), d.fold(req.PriorState), d.fold(req.PlannedState)
	return call(ctx, d, s.Framework.ApplyResourceChange, &in, func(resp *tfprotov6.ApplyResourceChangeResponse) {
		resp.NewState = d.unfold(resp.NewState)
	})
}

// ImportResourceState implements tfprotov6.ResourceServer.
func (s *Server) ImportResourceState(ctx context.Context, req *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	d := s.resource(ctx, req.TypeName)
	return call(ctx, d, s.Framework.ImportResourceState, req, func(resp *tfprotov6.ImportResourceStateResponse) {
		for _, imported := range resp.ImportedResources {
			imported.State = d.unfold(imported.State) // the framework imports only objects of the requested type
		}
	})
}

// MoveResourceState implements tfprotov6.ResourceServer.
func (s *Server) MoveResourceState(ctx context.Context, req *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	d := s.resource(ctx, req.TargetTypeName)
	return call(ctx, d, s.Framework.MoveResourceState, req, func(resp *tfprotov6.MoveResourceStateResponse) {
		resp.TargetState = d.unfold(resp.TargetState)
	})
}

// GenerateResourceConfig implements tfprotov6.ResourceServer.
func (s *Server) GenerateResourceConfig(ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	d, in := s.resource(ctx, req.TypeName), *req
	in.State = d.fold(req.State)
	return call(ctx, d, s.Framework.GenerateResourceConfig, &in, func(resp *tfprotov6.GenerateResourceConfigResponse) {
		resp.Config = d.unfold(resp.Config)
	})
}

// ValidateDataResourceConfig implements tfprotov6.DataSourceServer.
func (s *Server) ValidateDataResourceConfig(ctx context.Context, req *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	d, in := s.dataSource(ctx, req.TypeName), *req
	in.Config = d.fold(req.Config)
	return call(ctx, d, s.Framework.ValidateDataResourceConfig, &in, nil)
}

// ReadDataSource implements tfprotov6.DataSourceServer.
func (s *Server) ReadDataSource(ctx context.Context, req *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	d, in := s.dataSource(ctx, req.TypeName), *req
	in.Config = d.fold(req.Config)
	return call(ctx, d, s.Framework.ReadDataSource, &in, func(resp *tfprotov6.ReadDataSourceResponse) {
		resp.State = d.unfold(resp.State)
	})
}

// ValidateActionConfig implements tfprotov6.ActionServer.
func (s *Server) ValidateActionConfig(ctx context.Context, req *tfprotov6.ValidateActionConfigRequest) (*tfprotov6.ValidateActionConfigResponse, error) {
	d, in := s.action(ctx, req.ActionType), *req
	in.Config = d.fold(req.Config)
	return call(ctx, d, s.Framework.ValidateActionConfig, &in, nil)
}

// PlanAction implements tfprotov6.ActionServer.
func (s *Server) PlanAction(ctx context.Context, req *tfprotov6.PlanActionRequest) (*tfprotov6.PlanActionResponse, error) {
	d, in := s.action(ctx, req.ActionType), *req
	in.Config = d.fold(req.Config)
	return call(ctx, d, s.Framework.PlanAction, &in, nil)
}

// InvokeAction implements tfprotov6.ActionServer.
func (s *Server) InvokeAction(ctx context.Context, req *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	d, in := s.action(ctx, req.ActionType), *req
	in.Config = d.fold(req.Config)
	return call(ctx, d, s.Framework.InvokeAction, &in, nil)
}

// ListResource implements tfprotov6.ListResourceServer.
func (s *Server) ListResource(ctx context.Context, req *tfprotov6.ListResourceRequest) (*tfprotov6.ListResourceServerStream, error) {
	stream, err := s.Framework.ListResource(ctx, req)
	if err != nil || stream == nil {
		return stream, err
	}
	return &tfprotov6.ListResourceServerStream{Results: func(yield func(tfprotov6.ListResourceResult) bool) {
		for result := range stream.Results {
			d := s.resource(ctx, req.TypeName)
			result.Resource = d.unfold(result.Resource)
			if d.err != nil {
				result = tfprotov6.ListResourceResult{Diagnostics: []*tfprotov6.Diagnostic{{
					Severity: tfprotov6.DiagnosticSeverityError, Summary: "Unreadable Resource", Detail: d.err.Error(),
				}}}
			}
			if !yield(result) {
				return
			}
		}
	}}, nil
}

// call calls the framework and unfolds its response.
func call[Req, Resp any](ctx context.Context, d *dynamicValues, ask func(context.Context, *Req) (*Resp, error), req *Req, unfold func(*Resp)) (*Resp, error) {
	if d.err != nil {
		return nil, d.err
	}
	resp, err := ask(ctx, req)
	if err == nil && resp != nil && unfold != nil {
		unfold(resp)
		err = d.err
	}
	return resp, err
}
