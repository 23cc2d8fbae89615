package provider

import (
	"context"
	"net"
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

// stopGrace is how long a stop waits for actions to report how they ended.
const stopGrace = 800 * time.Millisecond

// Options are what differs between a provider that is served to users and one in tests.
type Options struct {
	Version string
	// Backoff is the wait between two queries for a result.
	Backoff poll.Backoff
	// Pace is how often an action reports its progress.
	Pace platform.Pace
	// Clock is what rollouts go by; nil is the one on the wall.
	Clock poll.Clock
	// Dial makes connections to the platform; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DefaultOptions are those with which users get the provider of the given version.
func DefaultOptions(version string) Options {
	return Options{Version: version, Backoff: poll.DefaultBackoff(), Pace: platform.DefaultPace}
}

// Server is the framework's server, except that a stop waits for actions to end.
//
// terraform-plugin-go (v0.31.0, InvokeAction in tf6server) discards what it gets from an
// action after a stop: the action would end without a word, and Terraform would take that
// for success. A stop begins for it when StopProvider returns, and the first thing that the
// framework does in StopProvider is to cancel the contexts of actions. So this server
// returns from StopProvider only once they have ended.
type Server struct {
	reference.Server

	mu      sync.Mutex
	actions map[chan struct{}]struct{} // each is closed when its action has ended
}

// NewServer returns a server of the provider. It takes one provider block: every
// configured provider has a server of its own.
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

// pointOut has Terraform show the attribute that a diagnostic is about. Of what is inside an
// object it finds nothing, and shows the first line of the block: so the object is named to it,
// unless a secret may be in that. The text of the diagnostic names the attribute itself.
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

// InvokeAction runs an action, which counts as running until its last event is taken.
func (s *Server) InvokeAction(ctx context.Context, req *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	stream, err := s.Server.InvokeAction(ctx, req)
	if err != nil || stream == nil {
		return stream, err
	}
	// It counts from now on, not from when its events are read: it has begun.
	end := s.begin()
	return &tfprotov6.InvokeActionServerStream{Events: func(push func(tfprotov6.InvokeActionEvent) bool) {
		defer end()
		stream.Events(push)
	}}, nil
}

// begin counts an action as running until the function that it returns is called.
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

// StopProvider cancels what is running and waits for actions to end, for stopGrace at
// most.
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
