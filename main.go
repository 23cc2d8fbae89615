// Command terraform-provider-bk serves the bk provider to Terraform and OpenTofu.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/blueking/terraform-provider-bk/internal/provider"
)

// These variables are set when a release is built. date is that of the commit, so that
// builds are reproducible.
var (
	version = "dev"
	commit  = "unknown"
	date    = "date unknown"
)

func main() {
	debugged := flag.Bool("debug", false, "wait for a debugger and print how Terraform finds this process")
	printVersion := flag.Bool("version", false, "print version, commit and date, and exit")
	flag.Parse()
	if *printVersion {
		fmt.Printf("terraform-provider-bk %s (commit %s, %s)\n", version, commit, date)
		return
	}

	quietSDK()
	collectLess()
	var opts []tf6server.ServeOpt
	if *debugged {
		opts = append(opts, tf6server.WithManagedDebug())
	} else {
		go endWith(os.Getppid())
	}
	err := tf6server.Serve("registry.terraform.io/blueking/bk", func() tfprotov6.ProviderServer {
		return provider.NewServer(provider.DefaultOptions(version))
	}, opts...)
	if err != nil {
		log.Fatal(err)
	}
}

// endWith ends this process when the process that started it has ended. If Terraform is
// killed, it does not stop its providers. Calls in progress end with the connection, but
// the process would wait for further calls forever.
func endWith(parent int) {
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			os.Exit(1)
		}
	}
}

// collectLess lets garbage grow to four times the memory in use: a request for a large fleet takes a
// second, and a tenth of that was garbage collection. Above memoryLimit the collector works as usual.
// GOGC and GOMEMLIMIT take precedence.
func collectLess() {
	const memoryLimit = 512 << 20
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(memoryLimit)
	}
}

// quietSDK turns off the SDK's own log, unless TF_LOG or one of the SDK's variables is set. Without a log,
// Terraform discards these lines, and writing them took two thirds of the time of a plan with 10,000
// hosts. In a log they hide the provider's lines, which are turned off too if there is no log.
func quietSDK() {
	if os.Getenv("TF_LOG") != "" {
		return
	}
	own := "TRACE"
	if os.Getenv("TF_LOG_PROVIDER") == "" {
		own = "WARN"
	}
	sdk := cmp.Or(os.Getenv("TF_LOG_SDK"), "WARN")
	for name, level := range map[string]string{
		"TF_LOG_SDK": sdk,
		// Without a level of its own, a part of the SDK formats even the lines that it does not write.
		"TF_LOG_SDK_FRAMEWORK":   sdk,
		"TF_LOG_SDK_PROTO":       sdk,
		"TF_LOG_PROVIDER_BK":     "WARN", // libraries of the SDK log under the provider's name
		"TF_LOG_PROVIDER_BK_GSE": own,
	} {
		if os.Getenv(name) == "" {
			// An error here leaves the log on, which is slow but otherwise harmless.
			_ = os.Setenv(name, level)
		}
	}
}
