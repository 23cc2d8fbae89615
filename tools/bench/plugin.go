package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
)

// Environment variables of the process that the CLI starts.
const (
	envRole     = "BENCH_ROLE"     // roleMeter or roleFloor
	envProvider = "BENCH_PROVIDER" // the provider that a meter runs; if unset, the floor
	envPeak     = "BENCH_PEAK"     // file to which a meter appends peak memory in bytes
	envAnswer   = "BENCH_ANSWER"   // file with the floor's response to a read of a data source
)

const (
	roleMeter = "meter"
	roleFloor = "floor"
)

// plugin runs this program as a provider that the CLI starts.
func plugin(ctx context.Context, role string) int {
	var err error
	switch role {
	case roleMeter:
		err = meter(ctx)
	case roleFloor:
		err = tf6server.Serve("registry.terraform.io/blueking/bk", func() tfprotov6.ProviderServer { return newFloor() })
	default:
		err = fmt.Errorf("%s is %q", envRole, role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// meter runs a provider and records its peak memory.
func meter(ctx context.Context) error {
	path := os.Getenv(envProvider)
	role := ""
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		path, role = self, roleFloor
	}
	cmd := exec.CommandContext(ctx, path, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), envRole+"="+role)
	if err := cmd.Run(); err != nil {
		return err
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return nil
	}
	file, err := os.OpenFile(os.Getenv(envPeak), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, peakBytes(usage))
	return errors.Join(err, file.Close())
}
