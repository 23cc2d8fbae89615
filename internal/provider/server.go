package provider

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// stopGrace is how long a stop waits for actions to end.
const stopGrace = 800 * time.Millisecond

// Options differ between the provider for users and the one in tests.
type Options struct {
	Version string
	// Backoff is the wait between two queries for a result.
	Backoff poll.Backoff
	// Pace is how often an action reports its progress.
	Pace platform.Pace
	// Clock is the clock of rollouts. Nil is the real one.
	Clock poll.Clock
	// Dial makes connections to the platform. Nil uses the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DefaultOptions returns the options for users, with the given version.
func DefaultOptions(version string) Options {
	return Options{Version: version, Backoff: poll.DefaultBackoff(), Pace: platform.DefaultPace}
}

// Server is the framework's server, except that it validates an action again when it is invoked, and that a
// stop waits for actions to end.
//
// After a stop, terraform-plugin-go (v0.31.0, InvokeAction in tf6server) discards the events of an action. The
// action would end without a message, which Terraform takes for success. For terraform-plugin-go, the stop
// begins when StopProvider returns, and the framework's StopProvider first cancels the contexts of actions. So
// this server returns from StopProvider only after the actions have ended.
type Server struct {
	reference.Server

	mu      sync.Mutex
	actions map[chan struct{}]struct{} // each is closed when its action has ended
}

// NewServer returns a server of the provider. Each configured provider has its own server.
func NewServer(o Options) *Server {
	return &Server{Server: reference.NewServer(&bkProvider{o}), actions: make(map[chan struct{}]struct{})}
}

// ValidateResourceConfig implements tfprotov6.ResourceServer.
func (s *Server) ValidateResourceConfig(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	resp, err := s.Server.ValidateResourceConfig(ctx, req)
	if resp != nil {
		pointOut(resp.Diagnostics)
	}
	return resp, err
}

// ValidateDataResourceConfig implements tfprotov6.DataSourceServer.
func (s *Server) ValidateDataResourceConfig(ctx context.Context, req *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	resp, err := s.Server.ValidateDataResourceConfig(ctx, req)
	if resp != nil {
		pointOut(resp.Diagnostics)
	}
	return resp, err
}

// ValidateActionConfig implements tfprotov6.ActionServer.
func (s *Server) ValidateActionConfig(ctx context.Context, req *tfprotov6.ValidateActionConfigRequest) (*tfprotov6.ValidateActionConfigResponse, error) {
	resp, err := s.Server.ValidateActionConfig(ctx, req)
	if resp != nil {
		pointOut(resp.Diagnostics)
	}
	return resp, err
}

// PlanResourceChange implements tfprotov6.ResourceServer.
func (s *Server) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp, err := s.Server.PlanResourceChange(ctx, req)
	if resp != nil {
		pointOut(resp.Diagnostics)
	}
	return resp, err
}

// pointOut makes Terraform show the attribute that a diagnostic is about. Terraform cannot find a path inside
// an object, and shows the first line of the block instead. So the diagnostic gets the path of the object,
// unless that may contain a secret. The text of the diagnostic names the attribute itself.
func pointOut(diags []*tfprotov6.Diagnostic) {
	for _, d := range diags {
		steps := d.Attribute.Steps()
		if len(steps) < 2 {
			continue
		}
		object, ok := steps[0].(tftypes.AttributeName)
		if _, inside := steps[1].(tftypes.AttributeName); ok && inside && !diagnose.MayHoldSecret(path.Root(string(object))) {
			d.Attribute = tftypes.NewAttributePathWithSteps(steps[:1])
		}
	}
}

// InvokeAction runs an action, which counts as running until its last event is read. It validates the action
// again: Terraform (1.15.9) does so while values of other objects are unknown, but not once they are known.
func (s *Server) InvokeAction(ctx context.Context, req *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	checked, err := s.ValidateActionConfig(ctx, &tfprotov6.ValidateActionConfigRequest{ActionType: req.ActionType, Config: req.Config})
	if err != nil {
		return nil, err
	}
	isWarning := func(d *tfprotov6.Diagnostic) bool { return d.Severity != tfprotov6.DiagnosticSeverityError }
	if invalid := slices.DeleteFunc(checked.Diagnostics, isWarning); len(invalid) > 0 {
		return &tfprotov6.InvokeActionServerStream{Events: func(push func(tfprotov6.InvokeActionEvent) bool) {
			push(tfprotov6.InvokeActionEvent{Type: tfprotov6.CompletedInvokeActionEventType{Diagnostics: invalid}})
		}}, nil
	}
	stream, err := s.Server.InvokeAction(ctx, req)
	if err != nil || stream == nil {
		return stream, err
	}
	// The action has begun, so it counts from now on, and not from when its events are read.
	end := s.begin()
	return &tfprotov6.InvokeActionServerStream{Events: func(push func(tfprotov6.InvokeActionEvent) bool) {
		defer end()
		stream.Events(push)
	}}, nil
}

// begin counts an action as running until the returned function is called.
func (s *Server) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := make(chan struct{})
	s.actions[ended] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.actions, ended)
		close(ended)
	}
}

// StopProvider cancels running actions and waits at most stopGrace for them to end.
func (s *Server) StopProvider(ctx context.Context, req *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	resp, err := s.Server.StopProvider(ctx, req)
	grace := time.After(stopGrace)
	for _, ended := range s.running() {
		select {
		case <-ended:
		case <-grace:
			return resp, err
		}
	}
	return resp, err
}

func (s *Server) running() []chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := make([]chan struct{}, 0, len(s.actions))
	for ended := range s.actions {
		running = append(running, ended)
	}
	return running
}
