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

// These are set when a release is built. The date is that of the commit, so that the same
// source gives the same binary.
var (
	version = "dev"
	commit  = "unknown"
	date    = "date unknown"
)

func main() {
	debugged := flag.Bool("debug", false, "wait for a debugger and print how Terraform finds this process")
	tell := flag.Bool("version", false, "print version, commit and date, and exit")
	flag.Parse()
	if *tell {
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

// endWith ends this process when the one that started it is gone. Terraform that is
// killed tells its providers nothing. What is under way there ends with the connection
// to it, but the process would wait for further calls for ever.
func endWith(parent int) {
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			os.Exit(1)
		}
	}
}

// collectLess lets garbage grow to four times what is in use: a request of a large fleet is over in a
// second, and a tenth of it went into collecting. Above memoryLimit the collector works as ever.
// GOGC and GOMEMLIMIT go before this.
func collectLess() {
	const memoryLimit = 512 << 20
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(memoryLimit)
	}
}

// quietSDK turns off what the SDK says of itself, unless TF_LOG or a variable of its own asks for it.
// Terraform throws it away without a log, and writing it took two thirds of the time of a plan with 10,000
// hosts; in a log it hides the provider's lines. Those are turned off too where there is no log.
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
		// Without a level of its own, a part of the SDK prepares even the lines that it does not write.
		"TF_LOG_SDK_FRAMEWORK":   sdk,
		"TF_LOG_SDK_PROTO":       sdk,
		"TF_LOG_PROVIDER_BK":     "WARN", // libraries of the SDK log as the provider
		"TF_LOG_PROVIDER_BK_GSE": own,
	} {
		if os.Getenv(name) == "" {
			// An error here leaves the log on, which is slow and otherwise harmless.
			_ = os.Setenv(name, level)
		}
	}
}
