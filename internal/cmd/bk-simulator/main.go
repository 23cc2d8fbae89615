// Command bk-simulator runs BlueKing's process service on one machine, to try out and test the provider
// without a platform.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bk-simulator:", err)
		os.Exit(1)
	}
}

// errUsage is a mistake in the flags that has been reported already.
var errUsage = errors.New("usage")

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	opts, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	sim, err := opts.server(stderr)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, opts.listen)
	if err != nil {
		return err
	}
	if err := sim.Start(); err != nil {
		return errors.Join(err, listener.Close())
	}

	srv := &http.Server{
		Handler:           sim,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.NewTextHandler(stderr, nil), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()

	url := "http://" + listener.Addr().String()
	if opts.readyFile != "" {
		err = os.WriteFile(opts.readyFile, []byte(url+"\n"), 0o600)
	}
	if err == nil {
		fmt.Fprint(stdout, opts.greeting(url))
		select {
		case <-ctx.Done():
		case err = <-served:
		}
	}

	// Answers in progress get two seconds; then their connections are closed.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if srv.Shutdown(bounded) != nil {
		_ = srv.Close()
	}
	if opts.readyFile != "" {
		_ = os.Remove(opts.readyFile)
	}
	return errors.Join(err, sim.Close())
}

// listen opens a socket that only this machine can reach. Because the resolver decides what localhost
// means, it checks the address of the open socket.
func listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w; choose another port, or 0 for a free one: -listen 127.0.0.1:0, or make simulator SIMFLAGS='… -listen 127.0.0.1:0'", err)
	}
	if err != nil {
		return nil, err
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("-listen: %s is %s, which is not a loopback address", address, listener.Addr()), listener.Close())
	}
	return listener, nil
}
