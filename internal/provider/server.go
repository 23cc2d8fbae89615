package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/fold"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// stopGrace is how long a stop waits for actions to tell how they ended.
const stopGrace = 800 * time.Millisecond

// Options are what a provider is served with.
type Options struct {
	Version string
	// Backoff is between two questions for a result.
	Backoff poll.Backoff
	// Pace is how often an action tells how far it has come.
	Pace platform.Pace
}

// DefaultOptions serve the provider of the given version as users have it.
func DefaultOptions(version string) Options {
	return Options{Version: version, Backoff: poll.DefaultBackoff(), Pace: platform.DefaultPace}
}

// Server is the framework's, but that a stop waits for actions.
//
// What terraform-plugin-go (v0.31.0, InvokeAction in tf6server) gets from an action
// after a stop it throws away: the action would end without a word, and Terraform
// would take it for a success. It counts as stopped when StopProvider returns, and
// the framework ends the contexts of actions as the first thing there. So this
// server returns from StopProvider when they are through.
type Server struct {
	*fold.Server

	mu      sync.Mutex
	actions map[chan struct{}]struct{} // each is closed when the action is through
}

// NewServer serves the provider.
func NewServer(o Options) *Server {
	serves := providerserver.NewProtocol6(&bkProvider{o})()
	whole, ok := serves.(fold.Framework)
	if !ok {
		panic(fmt.Sprintf("%T has no actions or no lists", serves)) // met by whatever starts a provider first
	}
	return &Server{Server: fold.NewServer(whole, "hosts"), actions: make(map[chan struct{}]struct{})}
}

func (s *Server) InvokeAction(ctx context.Context, req *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	stream, err := s.Server.InvokeAction(ctx, req)
	if err != nil || stream == nil {
		return stream, err
	}
	// From now on, and not only when somebody listens: the framework has begun.
	end := s.begin()
	return &tfprotov6.InvokeActionServerStream{Events: func(push func(tfprotov6.InvokeActionEvent) bool) {
		defer end()
		stream.Events(push)
	}}, nil
}

// Begin counts an action as running until the function that it returns is called.
func (s *Server) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	through := make(chan struct{})
	s.actions[through] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.actions, through)
		close(through)
	}
}

func (s *Server) StopProvider(ctx context.Context, req *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	resp, err := s.Server.StopProvider(ctx, req)
	enough := time.After(stopGrace)
	for _, through := range s.running() {
		select {
		case <-through:
		case <-enough:
			return resp, err
		}
	}
	return resp, err
}

func (s *Server) running() []chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := make([]chan struct{}, 0, len(s.actions))
	for through := range s.actions {
		running = append(running, through)
	}
	return running
}
