// Command web is the service that the demo hosts. It answers requests with its version, address and pid.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const version = "1.0.0"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, stdout io.Writer) error {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen on")
	test := flag.Bool("t", false, "find out whether it can listen there, and exit")
	showVersion := flag.Bool("version", false, "print the version and exit")
	flag.Parse()
	if *showVersion {
		_, err := fmt.Fprintln(stdout, version)
		return err
	}

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	if *test {
		return listener.Close()
	}
	srv := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func answer(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "web %s at %s, pid %d\n", version, r.Host, os.Getpid())
}
