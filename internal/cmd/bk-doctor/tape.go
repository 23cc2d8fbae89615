package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/provider"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/tape"
)

func flagsOf(command string, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet("bk-doctor "+command, flag.ContinueOnError)
	fs.SetOutput(stderr)
	return fs
}

// record runs a proxy in front of the platform until ctx ends, and writes the tape.
func record(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	fs := flagsOf("record", stderr)
	address := fs.String("listen", "127.0.0.1:8092", "loopback `address` to listen on; port 0 picks a free one")
	target := fs.String("target", "", "`URL` of the platform, in place of BK_ENDPOINT")
	out := fs.String("out", "tape.jsonl", "`file` for the tape, which must not exist yet")
	if err := fs.Parse(args); err != nil {
		return 0, err
	}
	if fs.NArg() > 0 {
		return 0, fmt.Errorf("unexpected argument %q; see bk-doctor help", fs.Arg(0))
	}
	config, err := platformOf(ctx, *target)
	if err != nil {
		return 0, err
	}
	endpoint, err := url.Parse(config.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.User != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return 0, errors.New("-target: want a URL such as https://paas.example.com, without a user")
	}
	transport, err := bkapi.Transport(config)
	if err != nil {
		return 0, err
	}
	if err := reach(ctx, endpoint); err != nil {
		return 0, err
	}
	listener, err := listenHere(ctx, *address)
	if err != nil {
		return 0, err
	}
	defer listener.Close() //nolint:errcheck // serving closes it
	file, err := os.OpenFile(*out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return 0, fmt.Errorf("%s exists already; choose another name with -out, or remove it", *out)
	}
	if err != nil {
		return 0, err
	}
	say := func(text string) { fmt.Fprintln(stderr, "bk-doctor:", text) }
	recorder, err := tape.NewRecorder(endpoint, transport, file, say, config.AppSecret, config.Token, config.AccessToken)
	if err != nil {
		return 0, errors.Join(err, file.Close())
	}
	fmt.Fprintf(stdout, "Recording to %s. Work with the platform through this address, and end with Ctrl-C:\n  export BK_ENDPOINT=http://%s\n", *out, listener.Addr())
	err = serveUntil(ctx, listener, recorder)
	count, failure := recorder.Count()
	err = errors.Join(err, failure, file.Close())
	fmt.Fprintf(stdout, "%d exchanges are on %s. Read it before you share it; bk-doctor verify %[2]s plays it.\n", count, *out)
	return exitWell, err
}

// platformOf returns how to reach the platform: by the provider's own variables, with target in place of
// the endpoint. The variables' secrets are kept off the tape in any case.
func platformOf(ctx context.Context, target string) (bkapi.Config, error) {
	if target != "" && os.Getenv("BK_APP_CODE") == "" {
		return bkapi.Config{Endpoint: target}, nil
	}
	env, err := provider.FromEnvironment(ctx, provider.DefaultOptions(version))
	if err != nil {
		return bkapi.Config{}, err
	}
	env.GSE.Endpoint = cmp.Or(target, env.GSE.Endpoint)
	return env.GSE, nil
}

// reach returns an error if nothing listens at the endpoint. It does not check an endpoint behind a proxy
// that the environment names.
func reach(ctx context.Context, endpoint *url.URL) error {
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: endpoint}); err != nil || proxy != nil {
		return err
	}
	port := cmp.Or(endpoint.Port(), map[string]string{"http": "80", "https": "443"}[endpoint.Scheme])
	conn, err := (&net.Dialer{Timeout: 15 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(endpoint.Hostname(), port))
	if err != nil {
		return fmt.Errorf("the platform at %s cannot be reached, so nothing is recorded: %w", endpoint.Host, err)
	}
	return conn.Close()
}

// listenHere opens a socket that only this machine can reach, because requests contain credentials.
func listenHere(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w; choose another port, or 0 for a free one: -listen 127.0.0.1:0", err)
	}
	if err != nil {
		return nil, fmt.Errorf("-listen: %w", err)
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("-listen: %s is not a loopback address; want one such as 127.0.0.1:8092", address), listener.Close())
	}
	return listener, nil
}

// serveUntil serves until ctx ends, and gives calls in progress five seconds to finish.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case err := <-served:
		return err
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if server.Shutdown(bounded) != nil {
		_ = server.Close()
	}
	return nil
}

// verify plays a tape against the simulator.
func verify(args []string, stdout, stderr io.Writer) (int, error) {
	fs := flagsOf("verify", stderr)
	platform := fs.String("platform", "", "`file` that bk-doctor probe wrote: the simulator behaves like that platform")
	asJSON := fs.Bool("json", false, "print one JSON document")
	if err := fs.Parse(args); err != nil {
		return 0, err
	}
	if fs.NArg() != 1 {
		return 0, errors.New("verify takes one tape, after its flags: bk-doctor verify tape.jsonl")
	}
	text, err := os.ReadFile(fs.Arg(0))
	if err != nil {
		return 0, err
	}
	exchanges, err := tape.Parse(fs.Arg(0), text)
	if err != nil {
		return 0, err
	}
	sim := &simulator.Server{}
	defer sim.Close() //nolint:errcheck // it has no file to write
	if *platform != "" {
		text, err := os.ReadFile(*platform)
		if err != nil {
			return 0, err
		}
		profile, err := belief.ParseProfile(*platform, text)
		if err != nil {
			return 0, err
		}
		if err := behave(sim, profile); err != nil {
			return 0, err
		}
	}
	report := tape.Report{Version: version, Profile: *platform != "", Rows: tape.Play(exchanges, sim)}
	if *asJSON {
		err = report.WriteJSON(stdout)
	} else {
		_, err = io.WriteString(stdout, report.String())
	}
	switch {
	case err != nil:
		return 0, err
	case report.Played() == 0:
		return 0, errors.New("no exchange of this tape could be played, so nothing is verified")
	case report.Differ() > 0:
		return exitFound, nil
	}
	return exitWell, nil
}

// behave makes the simulator behave as a profile says, like bk-simulator -platform.
func behave(sim *simulator.Server, profile belief.Profile) error {
	if profile.Value("labels-added") == belief.Yes {
		sim.RowLabels = map[string]string{"added_by_platform": "1"}
	}
	sim.Lag, _ = time.ParseDuration(profile.Value("status-lag"))
	return sim.With(profile.Switches()...)
}
