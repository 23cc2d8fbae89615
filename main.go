// Command terraform-provider-bk serves the bk provider to Terraform and OpenTofu.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
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
	debug := flag.Bool("debug", false, "wait for a debugger and print how Terraform finds this process")
	tell := flag.Bool("version", false, "print version, commit and date, and exit")
	flag.Parse()
	if *tell {
		fmt.Printf("terraform-provider-bk %s (commit %s, %s)\n", version, commit, date)
		return
	}

	quietFramework()
	var opts []tf6server.ServeOpt
	if *debug {
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

// quietFramework turns off the framework's trace log unless somebody asked for a
// log. Nobody reads it then (Terraform throws it away), and writing it took two
// thirds of the time of a plan with 10,000 hosts.
func quietFramework() {
	for _, name := range []string{"TF_LOG", "TF_LOG_PROVIDER", "TF_LOG_SDK", "TF_LOG_SDK_FRAMEWORK"} {
		if os.Getenv(name) != "" {
			return
		}
	}
	// An error here leaves the log on, which is slow and otherwise harmless.
	_ = os.Setenv("TF_LOG_SDK_FRAMEWORK", "ERROR")
}
