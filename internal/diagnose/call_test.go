package diagnose

import (
	"crypto/x509"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// A certificate that has expired needs a clock or another one, and one for another purpose does not.
func TestExplain_certificate(t *testing.T) {
	t.Parallel()
	for reason, want := range map[x509.InvalidReason]string{
		x509.Expired:           "has expired or is not valid yet. Check this machine's clock, or have the certificate renewed.",
		x509.IncompatibleUsage: "is not valid for this purpose. Ask its administrators for another one.",
	} {
		said := explain(&bkapi.Error{API: "operate_proc_v2", URL: "https://paas/x", Kind: bkapi.KindTLS, Attempts: 1, Err: x509.CertificateInvalidError{Reason: reason}})
		if !strings.HasSuffix(said, want) {
			t.Errorf("%d: said %q", reason, said)
		}
	}
}
